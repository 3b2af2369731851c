/**
 * A scenario for every endpoint: the path in a populated organization, and a valid body. The contract tests derive the
 * requests from it that every endpoint must reject. An endpoint without a scenario fails them.
 */
import { Effect } from "effect"
import type { Call } from "../support/TestService.ts"

/** Slugs and ids of a populated organization. */
export interface Fixture {
  readonly organizationId: string
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
  readonly release: string
  readonly zone: string
  readonly metadataField: string
  readonly customer: string
  readonly instance: string
  readonly flag: string
  readonly reservation: string
  readonly webhook: string
  readonly delivery: string
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
  const user = yield* operate("/platform/users", { name: "Bob" })
  const member = yield* operate("/platform/users", { name: "Anna" })
  yield* operate(`/platform/organizations/${organizationId}/memberships`, { userId: member.id, role: "MEMBER" })
  const component = yield* post("/components", { name: "part", version: "1" })
  const entitlement = yield* post("/entitlements", { name: "Seats", slug: "seats", type: "NUMBER" })
  const group = yield* post("/entitlement-groups", { name: "Capacity" })
  yield* post(`/entitlement-groups/${group.slug}/entitlements`, { entitlementSlug: "seats" })
  const license = yield* post("/licenses", { name: "Pro", slug: "pro", type: "PAID", isDefault: true })
  yield* post("/licenses/pro/entitlements", { entitlementSlug: "seats", value: 5 })
  const draft = yield* post("/licenses", { name: "Next", type: "PAID", familySlug: "pro", lifecycleState: "DRAFT" })
  const old = yield* post("/licenses", { name: "Old", type: "PAID", familySlug: "pro" })
  const archived = yield* post(`/licenses/${old.slug}/archive`, {})
  const release = yield* post("/releases", { version: "1.0.0", componentIds: [component.id] })
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
  const reservation = yield* post(`/instances/${instance.slug}/entitlements/seats/reservations`, {})
  const world: Fixture = {
    organizationId,
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
    release: release.slug,
    zone: zone.slug,
    metadataField: metadataField.id,
    customer: customer.slug,
    instance: instance.slug,
    flag: flag.key,
    reservation: reservation.id,
    webhook: webhook.id,
    delivery: tested.deliveryId,
  }
  return world
})

/** How an endpoint is called: the path after `/api`, and the body if it has one. */
export interface Scenario {
  readonly path: (world: Fixture) => string
  readonly body?: (world: Fixture) => object
}

const at = (path: string | ((world: Fixture) => string), body?: object | ((world: Fixture) => object)): Scenario => ({
  path: typeof path === "string" ? () => path : path,
  ...(body === undefined
    ? {}
    : { body: typeof body === "function" ? (body as (world: Fixture) => object) : () => body }),
})

const dates = { startLicenseDate: "2026-01-01T00:00:00Z", endLicenseDate: "2099-01-01T00:00:00Z" }
const tokenRequest = { name: "more", scopes: ["read:releases"] }
const organization = (world: Fixture) => `/platform/organizations/${world.organizationId}`

// Connectors belong to the installation: their names are the same in every organization.
const integration = "service.integration.crm.hubspot"
const connector = `/connectors/${integration}`
const recordAt = (owner: (world: Fixture) => string, body?: object) =>
  at((world) => `${owner(world)}/integrations/${integration}`, body)
const customerAt = (world: Fixture) => `/customers/${world.customer}`
const instanceAt = (world: Fixture) => `/instances/${world.instance}`

/** By `group.endpoint`. */
export const scenarios: Readonly<Record<string, Scenario>> = {
  "me.me": at("/me"),
  "events.list": at("/events"),

  "serviceAccounts.list": at("/service-accounts"),
  "serviceAccounts.create": at("/service-accounts", { name: "robot" }),
  "serviceAccounts.get": at((world) => `/service-accounts/${world.serviceAccount}`),
  "serviceAccounts.issueToken": at((world) => `/service-accounts/${world.serviceAccount}/tokens`, tokenRequest),
  "serviceAccounts.listTokens": at((world) => `/service-accounts/${world.serviceAccount}/tokens`),
  "serviceAccounts.rotateToken": at(
    (world) => `/service-accounts/${world.serviceAccount}/tokens/${world.token}/rotate`,
    { gracePeriodSeconds: 60 },
  ),
  "serviceAccounts.revokeToken": at((world) => `/service-accounts/${world.serviceAccount}/tokens/${world.token}`),

  "connectors.list": at("/connectors"),
  "connectors.state": at(`${connector}/state`),
  "connectors.activate": at(`${connector}/activation`),
  "connectors.deactivate": at(`${connector}/activation`),
  "connectors.settingsSchema": at(`${connector}/settings/schema`),
  "connectors.getSettings": at(`${connector}/settings`),
  "connectors.putSettings": at(`${connector}/settings`, { settings: { accessToken: "another" } }),
  "connectors.deleteSettings": at(`${connector}/settings`),
  "connectors.test": at(`${connector}/test`),

  "components.list": at("/components"),
  "components.create": at("/components", { name: "part", version: "2" }),
  "components.get": at((world) => `/components/${world.component}`),
  "components.delete": at((world) => `/components/${world.component}`),

  "releases.list": at("/releases"),
  "releases.create": at("/releases", { version: "2.0.0" }),
  "releases.get": at((world) => `/releases/${world.release}`),
  "releases.delete": at((world) => `/releases/${world.release}`),

  "deploymentZones.list": at("/deployment-zones"),
  "deploymentZones.create": at("/deployment-zones", { name: "Staging", type: "staging" }),
  "deploymentZones.get": at((world) => `/deployment-zones/${world.zone}`),
  "deploymentZones.update": at((world) => `/deployment-zones/${world.zone}`, { name: "Renamed" }),
  "deploymentZones.delete": at((world) => `/deployment-zones/${world.zone}`),
  "deploymentZones.listDeployments": at((world) => `/deployment-zones/${world.zone}/deployments`),

  "metadataFields.list": at("/metadata-fields"),
  "metadataFields.create": at("/metadata-fields", {
    key: "racks",
    label: "Racks",
    resourceType: "INSTANCE",
    jsonSchema: { type: "integer" },
  }),
  "metadataFields.update": at((world) => `/metadata-fields/${world.metadataField}`, { label: "Renamed" }),
  "metadataFields.archive": at((world) => `/metadata-fields/${world.metadataField}/archive`),
  "metadataFields.unarchive": at((world) => `/metadata-fields/${world.metadataField}/unarchive`),
  "metadataFields.dryRun": at((world) => `/metadata-fields/${world.metadataField}/dry-run`, { value: "eu" }),

  "entitlements.list": at("/entitlements"),
  "entitlements.create": at("/entitlements", { name: "SSO", type: "BOOLEAN" }),
  "entitlements.get": at((world) => `/entitlements/${world.entitlement}`),
  "entitlements.update": at((world) => `/entitlements/${world.entitlement}`, { name: "Renamed" }),
  "entitlements.delete": at((world) => `/entitlements/${world.entitlement}`),

  "entitlementGroups.list": at("/entitlement-groups"),
  "entitlementGroups.create": at("/entitlement-groups", { name: "Limits" }),
  "entitlementGroups.get": at((world) => `/entitlement-groups/${world.group}`),
  "entitlementGroups.update": at((world) => `/entitlement-groups/${world.group}`, { name: "Renamed" }),
  "entitlementGroups.delete": at((world) => `/entitlement-groups/${world.group}`),
  "entitlementGroups.attach": at(
    (world) => `/entitlement-groups/${world.group}/entitlements`,
    (world: Fixture) => ({ entitlementSlug: world.entitlement }),
  ),
  "entitlementGroups.detach": at((world) => `/entitlement-groups/${world.group}/entitlements/${world.entitlement}`),

  "licenses.list": at("/licenses"),
  "licenses.create": at("/licenses", { name: "Trial", type: "TRIAL" }),
  "licenses.get": at((world) => `/licenses/${world.license}`),
  "licenses.update": at((world) => `/licenses/${world.license}`, { name: "Renamed" }),
  "licenses.delete": at((world) => `/licenses/${world.draft}`),
  "licenses.publish": at((world) => `/licenses/${world.draft}/publish`),
  "licenses.archive": at((world) => `/licenses/${world.license}/archive`),
  "licenses.unarchive": at((world) => `/licenses/${world.archived}/unarchive`),
  "licenseEntitlements.list": at((world) => `/licenses/${world.license}/entitlements`),
  "licenseEntitlements.assign": at(
    (world) => `/licenses/${world.draft}/entitlements`,
    (world: Fixture) => ({ entitlementSlug: world.entitlement, value: 1 }),
  ),
  "licenseEntitlements.update": at((world) => `/licenses/${world.license}/entitlements/${world.entitlement}`, {
    value: 2,
  }),
  "licenseEntitlements.unassign": at((world) => `/licenses/${world.license}/entitlements/${world.entitlement}`),
  "licenseFamilies.list": at("/license-families"),
  "licenseFamilies.get": at((world) => `/license-families/${world.license}`),

  "customers.list": at("/customers"),
  "customers.create": at("/customers", { name: "Initech" }),
  "customers.get": at((world) => `/customers/${world.customer}`),
  "customers.update": at((world) => `/customers/${world.customer}`, { name: "Renamed" }),
  "customers.delete": at((world) => `/customers/${world.customer}`),

  "instances.list": at("/instances"),
  "instances.create": at("/instances", (world: Fixture) => ({
    name: "Another",
    customerSlug: world.customer,
    licenseSlug: world.license,
    ...dates,
  })),
  "instances.get": at((world) => `/instances/${world.instance}`),
  "instances.update": at((world) => `/instances/${world.instance}`, { name: "Renamed" }),
  "instances.delete": at((world) => `/instances/${world.instance}`),
  "customerIntegrations.list": at((world) => `${customerAt(world)}/integrations`),
  "customerIntegrations.get": recordAt(customerAt),
  "customerIntegrations.create": recordAt(customerAt, { external_id: "another" }),
  "customerIntegrations.put": recordAt(customerAt, { external_id: "another" }),
  "customerIntegrations.delete": recordAt(customerAt),
  "instanceIntegrations.list": at((world) => `${instanceAt(world)}/integrations`),
  "instanceIntegrations.get": recordAt(instanceAt),
  "instanceIntegrations.create": recordAt(instanceAt, { external_id: "another" }),
  "instanceIntegrations.put": recordAt(instanceAt, { external_id: "another" }),
  "instanceIntegrations.delete": recordAt(instanceAt),
  "integrationUpserts.customer": at("/integration/crm.hubspot/customer/globex", { name: "Renamed" }),
  "integrationUpserts.instance": at("/integration/crm.hubspot/instance/globex", { name: "Renamed" }),
  "usage.list": at((world) => `/instances/${world.instance}/entitlements/usage`),
  "usage.get": at((world) => `/instances/${world.instance}/entitlements/${world.entitlement}/usage`),
  "usage.report": at((world) => `/instances/${world.instance}/entitlements/${world.entitlement}/usage`, { value: 1 }),
  "usage.ofGroup": at((world) => `/entitlement-groups/${world.group}/usage?instance=${world.instance}`),
  "usage.reportEvents": at("/usage-events", (world: Fixture) => ({
    specversion: "1.0",
    id: "one",
    source: "/tests",
    subject: world.instance,
    type: world.entitlement,
    data: { value: 1 },
  })),
  "reservations.reserve": at((world) => `/instances/${world.instance}/entitlements/${world.entitlement}/reservations`, {
    quantity: 1,
  }),
  "reservations.get": at((world) => `/reservations/${world.reservation}`),
  "reservations.commit": at((world) => `/reservations/${world.reservation}/commit`, { quantity: 1 }),
  "reservations.release": at((world) => `/reservations/${world.reservation}`),
  "check.check": at((world) => `/instances/${world.instance}/check`, { checks: [{ entitlement: "seats" }] }),

  "connectorRegistry.list": at("/platform/connectors"),
  "connectorRegistry.register": at("/platform/connectors", {
    name: "service.integration.support.helpdesk",
    version: "1",
    settings_schema: { type: "object" },
  }),
  "connectorRegistry.delete": at("/platform/connectors/service.integration.support.helpdesk"),
  "connectorInclusions.get": at((world) => `${organization(world)}/license`),
  "connectorInclusions.put": at((world) => `${organization(world)}/license`, { connectors: ["*"] }),

  "featureFlags.list": at("/feature-flags"),
  "featureFlags.create": at("/feature-flags", { key: "theme", type: "string" }),
  "featureFlags.get": at((world) => `/feature-flags/${world.flag}`),
  "featureFlags.update": at((world) => `/feature-flags/${world.flag}`, { enabled: false }),
  "featureFlags.delete": at((world) => `/feature-flags/${world.flag}`),
  "featureFlags.manifest": at("/openfeature/v0/manifest"),
  "ofrep.evaluate": at((world) => `/ofrep/v1/evaluate/flags/${world.flag}`, { context: { targetingKey: "anna" } }),
  "ofrep.evaluateAll": at("/ofrep/v1/evaluate/flags", { context: { targetingKey: "anna" } }),

  "webhookEndpoints.list": at("/webhooks"),
  "webhookEndpoints.create": at("/webhooks", { url: "https://example.com/events", eventNames: ["CUSTOMER_CREATION"] }),
  "webhookEndpoints.get": at((world) => `/webhooks/${world.webhook}`),
  "webhookEndpoints.update": at((world) => `/webhooks/${world.webhook}`, { eventNames: ["*"] }),
  "webhookEndpoints.delete": at((world) => `/webhooks/${world.webhook}`),
  "webhookEndpoints.rotateSecret": at((world) => `/webhooks/${world.webhook}/rotate-secret`),
  "webhookEndpoints.test": at((world) => `/webhooks/${world.webhook}/test`),
  "webhookEndpoints.enable": at((world) => `/webhooks/${world.webhook}/enable`),
  "webhookHistory.list": at("/webhooks/history"),
  "webhookHistory.retry": at((world) => `/webhooks/history/${world.delivery}/retry`),

  "platformMe.me": at("/platform/me"),
  "organizations.list": at("/platform/organizations"),
  "organizations.create": at("/platform/organizations", { name: "Another" }),
  "organizations.get": at(organization),
  "organizations.update": at(organization, { name: "Renamed" }),
  "users.list": at("/platform/users"),
  "users.create": at("/platform/users", { name: "Bob" }),
  "users.get": at((world) => `/platform/users/${world.member}`),
  "memberships.list": at((world) => `${organization(world)}/memberships`),
  "memberships.create": at(
    (world) => `${organization(world)}/memberships`,
    (world: Fixture) => ({ userId: world.user, role: "VIEWER" }),
  ),
  "memberships.remove": at((world) => `${organization(world)}/memberships/${world.member}`),
  "organizationTokens.list": at((world) => `${organization(world)}/tokens`),
  "organizationTokens.mint": at((world) => `${organization(world)}/tokens`, tokenRequest),
  "organizationTokens.revoke": at((world) => `${organization(world)}/tokens/${world.mintedToken}`),
  "platformCredentials.list": at("/platform/credentials"),
  "platformCredentials.create": at("/platform/credentials", { name: "more", scopes: ["read:organizations"] }),
  "platformCredentials.revoke": at("/platform/credentials/unknown"),
}
