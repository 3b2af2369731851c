/** Creates or changes the customer with an external id. */
import { Effect, Option } from "effect"
import { Customers } from "../customers/Service.ts"
import { Caller } from "../../kernel/contract/Caller.ts"
import { UpsertCustomerSlugTaken } from "./Errors.ts"
import { connectorOf } from "./Model.ts"
import type { ExternalKey, UpsertCustomer } from "./Model.ts"
import { IntegrationsRepo } from "./Repo.ts"
import { customerResult } from "./Rules.ts"
import { recordIn, upsertStore } from "./UpsertStore.ts"

/** Upserts a customer, with the record in its adapter. */
export const customerUpsert = Effect.gen(function* () {
  const repo = yield* IntegrationsRepo
  const customers = yield* Customers
  const { serialize, store } = yield* upsertStore

  return Effect.fn("IntegrationUpserts.customer")(function* (
    adapter: string,
    externalId: string,
    input: UpsertCustomer,
  ) {
    const caller = yield* Caller
    const { organizationId } = caller
    const key: ExternalKey = { kind: "CUSTOMER", connector: connectorOf(adapter), externalId }
    const { error: ___, integrationMetadata: _, slug, webUrl: __, ...properties } = input
    const upsert = Effect.gen(function* () {
      const holder = yield* repo.findResource(organizationId, key)
      return Option.isSome(holder)
        ? yield* customers.change({ customerId: holder.value }, properties, (known) =>
            store(caller, key, known, input, true),
          )
        : yield* customers.create(
            { name: externalId, ...properties, ...(slug === undefined ? {} : { slug }) },
            (created) => store(caller, key, created, input, false),
          )
    }).pipe(
      Effect.retry({ times: 5, while: ({ _tag }) => _tag === "Moved" || _tag === "Customer.NotFound" }),
      Effect.catchTags({
        "CreateCustomer.SlugTaken": ({ detail }) => Effect.fail(new UpsertCustomerSlugTaken({ detail })),
        // The input has no `externalCustomerId`, and an external id that moves six times in one transaction is a bug.
        "CreateCustomer.ExternalIdTaken": Effect.die,
        "UpdateCustomer.ExternalIdTaken": Effect.die,
        "Customer.NotFound": Effect.die,
        Moved: Effect.die,
      }),
    )
    const record = yield* serialize(organizationId, key, upsert)
    return customerResult(record, recordIn(record, key))
  })
})
