/** An organization whose customers and instances have integration records. */
import { Effect } from "effect"
import { createShop } from "../instances/Shop.ts"

export const SALESFORCE = "service.integration.crm.salesforce"
export const HUBSPOT = "service.integration.crm.hubspot"
export const STRIPE = "service.integration.billing.stripe"

/** Opens the organization. Salesforce and HubSpot are active, Stripe is not. */
export const openCrm = Effect.gen(function* () {
  const shop = yield* createShop
  for (const name of [SALESFORCE, HUBSPOT]) yield* shop.call("PUT", `/connectors/${name}/activation`)
  const upsertOf =
    (kind: "customer" | "instance") =>
    (externalId: string, body: object = {}, adapter = "crm.salesforce") =>
      shop.call("PATCH", `/integration/${adapter}/${kind}/${encodeURIComponent(externalId)}`, body)
  return {
    ...shop,
    upsertCustomer: upsertOf("customer"),
    upsertInstance: upsertOf("instance"),

    /** Types and data of the events about customers and instances, oldest first. */
    emitted: Effect.map(shop.call("GET", "/events?limit=200"), ({ body }) =>
      body.items
        .filter(({ type }: { type: string }) => /^(CUSTOMER|INSTANCE)_/.test(type))
        .map(({ data, type }: { data: unknown; type: string }) => [type, data]),
    ),
  }
})

/** A record with nothing but its external id. */
export const bare = (externalId: string) => ({
  external_id: externalId,
  last_error: null,
  metadata: {},
  synced_at: null,
  web_url: null,
})
