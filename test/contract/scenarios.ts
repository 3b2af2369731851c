/**
 * A scenario for every endpoint: the path in a populated organization, and a valid body. The path comes from the names of its
 * parameters, the body from the example of its OpenAPI document. An endpoint that needs something else has an exception here;
 * one whose parameter has no value fails the contract tests.
 */
import { Effect } from "effect"
import type { Call } from "../support/TestService.ts"
import type { Endpoint } from "./endpoints.ts"

/** The ledger whose holder has a tranche. */
const holder = "urn:keyshelf:ledger:0198c2b5-0000-7000-8000-000000000001"

/** Slugs and ids of a populated organization. */
export interface Fixture {
  readonly organizationId: string
  readonly organizationSlug: string
  readonly serviceAccount: string
  readonly token: string
  readonly mintedToken: string
  /** A person without a membership, and one with a membership. */
  readonly user: string
  readonly member: string
  readonly component: string
  readonly entitlement: string
  readonly group: string
  readonly license: string
  readonly draft: string
  readonly archived: string
  /** A family of add-ons. The instance has one of it. */
  readonly addOn: string
  /** A credit of the instance. */
  readonly credit: string
  readonly release: string
  readonly zone: string
  readonly metadataField: string
  readonly customer: string
  readonly instance: string
  readonly flag: string
  readonly reservation: string
  readonly usageEvent: string
  /** A CONCURRENT entitlement, and a lease of it. */
  readonly seats: string
  readonly lease: string
  readonly licenseKey: string
  /** A license migration that is scheduled. */
  readonly migration: string
  readonly bundle: string
  /** An event of the organization. */
  readonly event: string
  /** A signing key that is next. */
  readonly signingKey: string
  readonly webhook: string
  readonly delivery: string
  readonly ticket: string
}

const expectSuccess = (method: "POST" | "PUT") => (call: Call, token: string) => (path: string, body?: object) =>
  Effect.flatMap(call(method, path, { token, ...(body === undefined ? {} : { body }) }), (response) =>
    response.status < 300
      ? Effect.succeed(response.body)
      : Effect.die(new Error(`${method} ${path}: ${response.text}`)),
  )

const postSuccessfully = expectSuccess("POST")

/** Populates an organization with one record of each kind. */
export const populate = Effect.fnUntraced(function* (options: {
  readonly core: Call
  readonly platform: Call
  readonly operator: string
  readonly organizationId: string
  readonly token: string
}) {
  const { organizationId } = options
  const post = postSuccessfully(options.core, options.token)
  const put = expectSuccess("PUT")(options.core, options.token)
  const account = yield* post("/service-accounts", { name: "ci" })
  const issued = yield* post(`/service-accounts/${account.slug}/tokens`, { name: "deploys", scopes: ["read:releases"] })
  const minted = yield* postSuccessfully(options.platform, options.operator)(
    `/platform/organizations/${organizationId}/tokens`,
    {
      name: "minted",
      scopes: ["read:releases"],
    },
  )
  const operate = postSuccessfully(options.platform, options.operator)
  const organization = yield* options.platform("GET", `/platform/organizations/${organizationId}`, {
    token: options.operator,
  })
  const user = yield* operate("/platform/users", { name: "Bob" })
  const member = yield* operate("/platform/users", { name: "Anna" })
  yield* operate(`/platform/organizations/${organizationId}/memberships`, { userId: member.id, role: "MEMBER" })
  const component = yield* post("/components", {
    name: "part",
    version: "1",
    images: [{ repository: "acme/part", reference: "1" }],
  })
  const entitlement = yield* post("/entitlements", { name: "API calls", slug: "api-calls", type: "NUMBER" })
  const group = yield* post("/entitlement-groups", { name: "Capacity" })
  yield* post(`/entitlement-groups/${group.slug}/entitlements`, { entitlementSlug: "api-calls" })
  const license = yield* post("/licenses", { name: "Pro", slug: "pro", type: "PAID", isDefault: true })
  yield* post("/licenses/pro/entitlements", { entitlementSlug: "api-calls", value: 5 })
  const draft = yield* post("/licenses", { name: "Next", type: "PAID", familySlug: "pro", lifecycleState: "DRAFT" })
  const old = yield* post("/licenses", { name: "Old", type: "PAID", familySlug: "pro" })
  const archived = yield* post(`/licenses/${old.slug}/archive`, {})
  const release = yield* post("/releases", {
    version: "1.0.0",
    componentIds: [component.id],
    access: { offered: true, entitlements: ["api-calls"] },
  })
  const zone = yield* post("/deployment-zones", { name: "Production", type: "production", releaseId: release.id })
  const metadataField = yield* post("/metadata-fields", {
    key: "region",
    label: "Region",
    resourceType: "DEPLOYMENT_ZONE",
    jsonSchema: { type: "string" },
  })
  const customer = yield* post("/customers", { name: "Globex" })
  const instance = yield* post("/instances", {
    name: "Globex production",
    customerSlug: customer.slug,
    licenseFamilySlug: "pro",
    deploymentZoneId: zone.id,
    startLicenseDate: "2026-01-01T00:00:00Z",
    endLicenseDate: "2099-01-01T00:00:00Z",
  })
  yield* put(`${connector}/activation`)
  for (const [kind, { slug }] of [
    ["customers", customer],
    ["instances", instance],
  ] as const) {
    yield* post(`/${kind}/${slug}/integrations/${integration}`, { external_id: "globex" })
  }
  yield* put(`${connector}/settings`, { settings: { accessToken: "token", baseUrl: "http://127.0.0.1:1" } })
  const flag = yield* post("/feature-flags", {
    key: "new-search",
    type: "boolean",
    variants: [{ name: "on", value: true }],
    defaultVariant: "on",
  })
  const webhook = yield* post("/webhooks", { url: "https://example.com/events", eventNames: ["*"] })
  const tested = yield* post(`/webhooks/${webhook.id}/test`)
  yield* put(`/instances/${instance.slug}/entitlements/api-calls/override`, { mode: "ADD", value: 1 })
  yield* post("/licenses", { name: "Extra calls", slug: "extra-calls", type: "ADD_ON" })
  yield* post("/licenses/extra-calls/entitlements", { entitlementSlug: "api-calls", value: 500 })
  yield* put(`/instances/${instance.slug}/add-ons/extra-calls`, {})
  const credit = yield* post(`/instances/${instance.slug}/entitlements/api-calls/credits`, { amount: 100 })
  yield* post("/entitlements", { name: "Editors", slug: "editors", type: "NUMBER", aggregationMethod: "CONCURRENT" })
  yield* post("/licenses/pro/entitlements", { entitlementSlug: "editors", value: 5 })
  const lease = yield* post(`/instances/${instance.slug}/entitlements/editors/leases`, { holder: "bob" })
  const licenseKey = yield* post(`/instances/${instance.slug}/keys`, { name: "on site", scopes: ["read:instances"] })
  const migration = yield* post("/licenses/pro/migrations", { toLicenseSlug: draft.slug, at: "2099-01-01T00:00:00Z" })
  const bundle = yield* post(`/instances/${instance.slug}/offline-bundles`)
  const signingKey = yield* post("/signing-keys", { purpose: "offline" })
  const reservation = yield* post(`/instances/${instance.slug}/entitlements/api-calls/reservations`, {})
  const tranches = [{ entitlement: "api-calls", need: "1" }]
  yield* post(`/instances/${instance.slug}/tranches`, { source: holder, tranches })
  const evaluated = yield* post("/ofrep/v1/evaluate/flags", { context: { targetingKey: instance.slug } })
  const usagePath = `/instances/${instance.slug}/entitlements/api-calls/usage`
  yield* post(usagePath, { value: 1 })
  const listed = yield* options.core("GET", `${usagePath}/events`, { token: options.token })
  const events = yield* options.core("GET", "/events?limit=1", { token: options.token })
  const fixture: Fixture = {
    organizationId,
    organizationSlug: organization.body.slug,
    serviceAccount: account.slug,
    token: issued.slug,
    mintedToken: minted.slug,
    user: user.id,
    member: member.id,
    component: component.slug,
    entitlement: entitlement.slug,
    group: group.slug,
    license: license.slug,
    draft: draft.slug,
    archived: archived.slug,
    addOn: "extra-calls",
    credit: credit.id,
    release: release.slug,
    zone: zone.slug,
    metadataField: metadataField.id,
    customer: customer.slug,
    instance: instance.slug,
    flag: flag.key,
    reservation: reservation.id,
    usageEvent: listed.body.items[0].id,
    seats: "editors",
    lease: lease.id,
    licenseKey: licenseKey.slug,
    migration: migration.id,
    bundle: bundle.id,
    event: events.body.items[0].id,
    signingKey: signingKey.kid,
    webhook: webhook.id,
    delivery: tested.deliveryId,
    ticket: String(evaluated.eventStreams[0].endpoint.requestUri).split("/").at(-1) ?? "",
  }
  return fixture
})

/** How an endpoint is called: the path after `/api`, and the body if it has one. */
export interface Scenario {
  readonly path: string
  readonly body?: object
}

// Connectors belong to the installation: their names are the same in every organization.
const integration = "service.integration.crm.hubspot"
const connector = `/connectors/${integration}`

/** The value of each path parameter. */
const parameters: Readonly<Record<string, (fixture: Fixture) => string>> = {
  adapter: () => "crm.hubspot",
  bundleId: ({ bundle }) => bundle,
  componentSlug: ({ component }) => component,
  connectorName: () => integration,
  creditId: ({ credit }) => credit,
  customerSlug: ({ customer }) => customer,
  deliveryId: ({ delivery }) => delivery,
  deploymentZoneSlug: ({ zone }) => zone,
  entitlementGroupSlug: ({ group }) => group,
  entitlementSlug: ({ entitlement }) => entitlement,
  eventId: ({ usageEvent }) => usageEvent,
  externalId: () => "globex",
  familySlug: ({ addOn }) => addOn,
  holder: () => encodeURIComponent(holder),
  id: ({ webhook }) => webhook,
  instanceSlug: ({ instance }) => instance,
  integrationName: () => integration,
  key: ({ flag }) => flag,
  keySlug: ({ licenseKey }) => licenseKey,
  leaseId: ({ lease }) => lease,
  kid: ({ signingKey }) => signingKey,
  licenseFamilySlug: ({ license }) => license,
  licenseSlug: ({ license }) => license,
  migrationId: ({ migration }) => migration,
  metadataFieldId: ({ metadataField }) => metadataField,
  organizationId: ({ organizationId }) => organizationId,
  orgId: ({ organizationId }) => organizationId,
  releaseSlug: ({ release }) => release,
  reservationId: ({ reservation }) => reservation,
  serviceAccountSlug: ({ serviceAccount }) => serviceAccount,
  ticket: ({ ticket }) => ticket,
  tokenSlug: ({ token }) => token,
  userId: ({ member }) => member,
}

interface Exception {
  /** Values of parameters that differ from {@link parameters}. */
  readonly parameters?: Readonly<Record<string, (fixture: Fixture) => string>>
  readonly query?: (fixture: Fixture) => string
  /** A body that fits the fixture, where the example names records that do not exist in it. */
  readonly body?: (fixture: Fixture) => object
}

const onSeats = { entitlementSlug: ({ seats }: Fixture) => seats }
const onDraft = { licenseSlug: ({ draft }: Fixture) => draft }

/** By `group.endpoint`. */
export const exceptions: Readonly<Record<string, Exception>> = {
  "customers.create": { body: () => ({ name: "Initech" }) },
  "connectorRegistry.delete": { parameters: { connectorName: () => "service.integration.support.helpdesk" } },
  "customers.update": { body: () => ({ name: "Renamed" }) },
  "deploymentZones.create": { body: () => ({ name: "Staging", type: "staging" }) },
  "deploymentZones.update": { body: () => ({ name: "Renamed" }) },
  "entitlements.create": { body: () => ({ name: "SSO", type: "BOOLEAN" }) },
  "eventLog.consistency": { query: () => "?from=1&to=2" },
  "eventLog.proof": { parameters: { eventId: ({ event }) => event } },
  "integrationUpserts.instance": { body: () => ({ name: "Renamed" }) },
  "leases.acquire": { parameters: onSeats },
  "leases.list": { parameters: onSeats },
  "leases.release": { parameters: onSeats },
  "licenseMigrations.request": {
    body: ({ draft }) => ({ toLicenseSlug: draft, at: "2099-01-01T00:00:00Z" }),
  },
  "licenseKeys.create": { body: () => ({ name: "more", scopes: ["read:instances"] }) },
  "licenseEntitlements.assign": { parameters: onDraft },
  "licenses.create": { body: () => ({ name: "Trial", type: "TRIAL" }) },
  "licenses.delete": { parameters: onDraft },
  "licenses.publish": { parameters: onDraft },
  "licenses.unarchive": { parameters: { licenseSlug: ({ archived }) => archived } },
  "licenses.update": { body: () => ({ name: "Renamed" }) },
  "memberships.create": { body: ({ user }) => ({ userId: user, role: "VIEWER" }) },
  "metadataFields.create": {
    body: () => ({ key: "racks", label: "Racks", resourceType: "INSTANCE", jsonSchema: { type: "integer" } }),
  },
  "organizationTokens.mint": { body: () => ({ name: "more", scopes: ["read:releases"] }) },
  "organizationTokens.revoke": { parameters: { tokenSlug: ({ mintedToken }) => mintedToken } },
  "organizations.delete": { query: ({ organizationSlug }) => `?confirm=${organizationSlug}` },
  "platformCredentials.create": { body: () => ({ name: "more", scopes: ["read:organizations"] }) },
  "platformCredentials.revoke": { parameters: { slug: () => "unknown" } },
  "releases.create": { body: () => ({ version: "2.0.0" }) },
  "reservations.commit": { body: () => ({ quantity: 1 }) },
  "reservations.reserve": { body: () => ({ quantity: 1 }) },
  "tranches.refill": {
    body: ({ entitlement }) => ({ source: holder, tranches: [{ entitlement, keep: "1" }] }),
  },
  "serviceAccounts.issueToken": { body: () => ({ name: "more", scopes: ["read:releases"] }) },
  "signingKeys.create": { body: () => ({ purpose: "audit" }) },
  "usageEvents.history": { query: () => "?bucket=DAY&from=2026-01-01T00%3A00%3A00Z&to=2026-01-03T00%3A00%3A00Z" },
  "webhookHistory.recoverable": { query: () => "?since=2026-01-01T00%3A00%3A00Z" },
  "usage.ofGroup": { query: ({ instance }) => `?instance=${instance}` },
  "usage.report": { body: () => ({ value: 1 }) },
  "usage.reportEvents": {
    body: ({ entitlement, instance }) => ({
      specversion: "1.0",
      id: "one",
      source: "/tests",
      subject: instance,
      type: entitlement,
      data: { value: 1 },
    }),
  },
}

/** The scenario of an endpoint. Throws if a path parameter has no value. */
export const scenarioOf = (
  { example, id, path }: Pick<Endpoint, "example" | "id" | "path">,
  fixture: Fixture,
): Scenario => {
  const exception = exceptions[id]
  const filled = path.replace(/^\/api/, "").replaceAll(/:(\w+)/g, (_, name: string) => {
    const value = exception?.parameters?.[name] ?? parameters[name]
    if (value === undefined) throw new Error(`${id}: no fixture has a value for the path parameter "${name}"`)
    return value(fixture)
  })
  const body = exception?.body?.(fixture) ?? example
  return { path: filled + (exception?.query?.(fixture) ?? ""), ...(body === undefined ? {} : { body }) }
}
