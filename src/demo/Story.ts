/** The main story, from an empty installation to a revoked token. */
import { Effect, Redacted, Schema } from "effect"
import { randomBytes } from "node:crypto"
import { DAY_MS, now } from "../kernel/values/Timestamp.ts"
import { as, DemoFailed, Stage } from "./Demo.ts"
import type { Calls } from "./Demo.ts"
import { checkEntitlements, evaluateFlags, useUntilLimit } from "./Product.ts"
import { receiveWebhook } from "./Webhook.ts"

const WithId = Schema.Struct({ id: Schema.String })
const WithSlug = Schema.Struct({ id: Schema.String, slug: Schema.String })
const Issued = Schema.Struct({ slug: Schema.String, token: Schema.String })
const Archived = Schema.Struct({ lifecycleState: Schema.Literal("ARCHIVED") })
const EventTypes = Schema.Struct({ items: Schema.Array(Schema.Struct({ type: Schema.String })) })

const openOrganization = Effect.fnUntraced(function* (operator: Redacted.Redacted) {
  const { expectSuccess: succeeds, print } = yield* Stage
  const onPlatform = as(operator, "platform")
  yield* print("1. The operator creates an organization, the tenant that contains everything else.")
  const organization = yield* succeeds(
    onPlatform("POST", "/platform/organizations", { name: `Demo ${randomBytes(3).toString("hex")}` }),
    201,
    WithId,
  )
  yield* print(
    "   Then the operator issues its first token. Only this response contains the secret; it is shortened here.",
  )
  const first = yield* succeeds(
    onPlatform("POST", `/platform/organizations/${organization.id}/tokens`, { name: "First token" }),
    201,
    Issued,
  )
  return Redacted.make(first.token)
})

const issueNarrowerToken = Effect.fnUntraced(function* (first: Calls) {
  const { expectSuccess: succeeds, print } = yield* Stage
  yield* print("2. With this token the vendor creates a service account, a machine user for the build pipeline.")
  const account = yield* succeeds(first("POST", "/service-accounts", { name: "Pipeline" }), 201, WithSlug)
  yield* print("   Its token has only the scopes that the pipeline needs. It cannot issue tokens.")
  const path = `/service-accounts/${account.slug}/tokens`
  const modules = ["entitlements", "licenses", "customers", "instances", "components", "releases", "deployment_zones"]
  const scopes = [...modules.map((module) => `write:${module}`), "read:organizations"]
  const narrower = yield* succeeds(first("POST", path, { name: "Build server", scopes }), 201, Issued)
  return { pipeline: as(Redacted.make(narrower.token)), tokenPath: `${path}/${narrower.slug}` }
})

const sellLicense = Effect.fnUntraced(function* (pipeline: Calls) {
  const { expectSuccess: succeeds, print } = yield* Stage
  yield* print("   Licenses grant entitlements: here, an amount that resets every calendar month ...")
  yield* succeeds(
    pipeline("POST", "/entitlements", {
      name: "API calls",
      slug: "api-calls",
      type: "NUMBER",
      aggregationMethod: "SUM",
      resetPeriod: "MONTH",
      resetAnchor: "CALENDAR",
    }),
    201,
    WithSlug,
  )
  yield* print("   ... and a feature that is on or off.")
  yield* succeeds(
    pipeline("POST", "/entitlements", { name: "Single sign-on", slug: "sso", type: "BOOLEAN" }),
    201,
    WithSlug,
  )
  yield* print("   A published license, the default of its family, ...")
  const license = yield* succeeds(
    pipeline("POST", "/licenses", { name: "Team", type: "PAID", lifecycleState: "PUBLISHED", isDefault: true }),
    201,
    Schema.Struct({ slug: Schema.String, familySlug: Schema.String }),
  )
  yield* print("   ... grants 1,000 calls a month and single sign-on.")
  for (const [entitlementSlug, value] of [
    ["api-calls", 1000],
    ["sso", true],
  ] as const) {
    yield* succeeds(
      pipeline("POST", `/licenses/${license.slug}/entitlements`, { entitlementSlug, value }),
      201,
      Schema.Struct({ entitlementSlug: Schema.Literal(entitlementSlug) }),
    )
  }
  yield* print("   A customer buys it ...")
  const customer = yield* succeeds(pipeline("POST", "/customers", { name: "Acme" }), 201, WithSlug)
  yield* print("   ... and gets an instance for a year. The license family resolves to its default version.")
  const yesterday = (yield* now).getTime() - DAY_MS
  const dates = {
    startLicenseDate: new Date(yesterday).toISOString(),
    endLicenseDate: new Date(yesterday + 365 * DAY_MS).toISOString(),
  }
  const instance = yield* succeeds(
    pipeline("POST", "/instances", {
      name: "Acme production",
      customerSlug: customer.slug,
      licenseFamilySlug: license.familySlug,
      ...dates,
    }),
    201,
    WithSlug,
  )
  return { customer, license, instance, order: { customerSlug: customer.slug, licenseSlug: license.slug, ...dates } }
})

const shipRelease = Effect.fnUntraced(function* (pipeline: Calls) {
  const { expectSuccess: succeeds, print } = yield* Stage
  yield* print("   The vendor builds a component ...")
  const component = yield* succeeds(
    pipeline("POST", "/components", { name: "Search engine", version: "2.4.0" }),
    201,
    WithSlug,
  )
  yield* print("   ... ships it in a release ...")
  const release = yield* succeeds(
    pipeline("POST", "/releases", { version: "2026.1", componentIds: [component.id] }),
    201,
    WithSlug,
  )
  yield* print("   ... and deploys it to the customer's deployment zone, as the zone's first deployment.")
  yield* succeeds(
    pipeline("POST", "/deployment-zones", { name: "Acme Berlin", type: "production", releaseId: release.id }),
    201,
    Schema.Struct({ releaseId: Schema.Literal(release.id) }),
  )
})

const archiveLicense = Effect.fnUntraced(function* (
  pipeline: Calls,
  { license, order }: { readonly license: { readonly slug: string }; readonly order: object },
) {
  const { expectEmpty: done, expectProblem, expectSuccess: succeeds, print } = yield* Stage
  const path = `/licenses/${license.slug}`
  yield* print("4. The vendor archives the license. While it is the default of its family, this is rejected ...")
  yield* expectProblem(pipeline("POST", `${path}/archive`), 409, "ArchiveLicense.DefaultMustBePublished")
  yield* print("   ... so the vendor first removes the default ...")
  yield* done(pipeline("PUT", path, { isDefault: false }))
  yield* print("   ... and then archives the license. The existing instance keeps it.")
  yield* succeeds(pipeline("POST", `${path}/archive`), 200, Archived)
  yield* print("   The organization's event stream contains every change.")
  const { items } = yield* succeeds(pipeline("GET", "/events?limit=200"), 200, EventTypes)
  if (!items.some((event) => event.type === "LICENSE_ARCHIVED")) {
    return yield* new DemoFailed({
      message: "The demo stopped at GET /api/events: the events do not contain LICENSE_ARCHIVED.",
    })
  }
  yield* print(
    `   LICENSE_ARCHIVED is one of these ${items.length} events. New instances cannot get an archived license.`,
  )
  yield* expectProblem(
    pipeline("POST", "/instances", { name: "Too late", ...order }),
    409,
    "CreateInstance.LicenseArchived",
  )
})

const revokeToken = Effect.fnUntraced(function* (first: Calls, pipeline: Calls, tokenPath: string) {
  const { expectEmpty: done, expectProblem, print } = yield* Stage
  yield* print("5. The pipeline's token leaked? The first token revokes it ...")
  yield* done(first("DELETE", tokenPath))
  yield* print("   ... and the next request with it is rejected.")
  yield* expectProblem(pipeline("GET", "/entitlements"), 401, "Auth.InvalidCredential")
  yield* print("The story is complete: every response was as expected.")
})

/** Plays the story, starting with an operator's platform credential. */
export const play = Effect.fn("Demo.play")(function* (operator: Redacted.Redacted) {
  const firstToken = yield* openOrganization(operator)
  const first = as(firstToken)
  const { pipeline, tokenPath } = yield* issueNarrowerToken(first)
  const sold = yield* sellLicense(pipeline)
  yield* shipRelease(pipeline)
  yield* checkEntitlements(pipeline, sold.instance.slug)
  yield* useUntilLimit(pipeline, sold.instance.slug)
  yield* evaluateFlags(first, sold.instance.slug)
  yield* receiveWebhook(first, as(firstToken, "webhooks"), sold.customer.slug)
  yield* archiveLicense(pipeline, sold)
  yield* revokeToken(first, pipeline, tokenPath)
})
