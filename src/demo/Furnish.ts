/**
 * `keyshelf demo --keep`: an organization as it looks after a year of work. Everything goes through the API, except for the usage
 * that is too old for it (`PastUsage.ts`).
 */
import { Array as Arr, Effect, Redacted, Schema } from "effect"
import { MAX_EVENTS } from "../domains/usage/cloudevents/Model.ts"
import { DAY_MS, now } from "../kernel/values/Timestamp.ts"
import { OrganizationId } from "../kernel/values/Identifiers.ts"
import { as, Stage } from "./Demo.ts"
import type { Calls } from "./Demo.ts"
import { components, customers, entitlements, flags, purposes, versions, zones } from "./Names.ts"
import type { Version } from "./Names.ts"

/** An instance, and how much of its entitlements it uses. */
interface FurnishedInstance {
  readonly slug: string
  readonly version: Version
  /** Between 0.6 and 1.2; above 1 it exceeds the grant of its license. */
  readonly intensity: number
}

/** The size of the furnished organization. */
export interface Extent {
  /** Some of the names of customers. */
  readonly customers: ReadonlyArray<string>
  /** How many days have usage, at most `RECENT_DAYS`. */
  readonly days: number
}

/** What is left. */
export interface Furnished {
  readonly organizationId: OrganizationId
  readonly organizationName: string
  readonly token: Redacted.Redacted
  readonly instances: ReadonlyArray<FurnishedInstance>
}

const WithId = Schema.Struct({ id: Schema.String })
const NewOrganization = Schema.Struct({ id: OrganizationId })
const WithSlug = Schema.Struct({ id: Schema.String, slug: Schema.String })
const Token = Schema.Struct({ token: Schema.String })
const Results = Schema.Struct({ results: Schema.Array(Schema.Struct({ status: Schema.Literal("accepted") })) })

const CONCURRENCY = 8
/** Accepted, but nothing answers there: names below `.invalid` never resolve (RFC 6761). */
const UNREACHABLE = "https://erp.example.invalid/keyshelf"
/** How far back the API accepts usage. */
export const RECENT_DAYS = 34
const YEAR_DAYS = 365

/** The usage of a day as CloudEvents, with the calls of `days` days. */
export const usageOfDay = (
  { intensity, slug, version }: FurnishedInstance,
  time: Date,
  days = 1,
): ReadonlyArray<Record<string, unknown>> => {
  const day = Math.floor(time.getTime() / DAY_MS)
  // Weekends are quiet, and the load grows over the year.
  const isWeekend = [2, 3].includes(day % 7)
  const share = (intensity * (isWeekend ? 0.3 : 1.2)) / 30
  const event = (type: string, value: number) => ({
    specversion: "1.0",
    id: `${slug}/${type}/${day}`,
    source: "keyshelf-demo",
    type,
    subject: slug,
    time: time.toISOString(),
    data: { value },
  })
  return [
    event("api-calls", Math.round(version.monthlyCalls * share * days)),
    event("active-users", Math.ceil(version.users * intensity * 0.7) + (isWeekend ? 0 : 1)),
    event("storage-gb", 5 + Math.floor((day % YEAR_DAYS) / 75)),
  ]
}

const openOrganization = Effect.fnUntraced(function* (operator: Redacted.Redacted) {
  const { expectSuccess: succeeds } = yield* Stage
  const at = yield* now
  const name = `Furnished demo ${at.toISOString().slice(0, 16).replace("T", " ")}`
  const onPlatform = as(operator, "platform")
  const { id } = yield* succeeds(onPlatform("POST", "/platform/organizations", { name }), 201, NewOrganization)
  const token = onPlatform("POST", `/platform/organizations/${id}/tokens`, { name: "Demo" })
  const issued = yield* succeeds(token, 201, Token)
  return { organizationId: id, organizationName: name, token: Redacted.make(issued.token) }
})

const createCatalogue = Effect.fnUntraced(function* (call: Calls) {
  const { expectSuccess: succeeds } = yield* Stage
  yield* succeeds(call("POST", "/entitlement-groups", { name: "Platform", slug: "platform" }), 201, WithSlug)
  yield* Effect.forEach(
    entitlements,
    (entitlement) =>
      succeeds(call("POST", "/entitlements", { ...entitlement, groupSlugs: ["platform"] }), 201, WithSlug),
    { concurrency: CONCURRENCY },
  )
  const known = new Set<string>()
  for (const { family, grants, isDefault, name, slug } of versions) {
    const place = known.has(family) ? { familySlug: family } : {}
    known.add(family)
    yield* succeeds(call("POST", "/licenses", { name, slug, type: "PAID", isDefault, ...place }), 201, WithSlug)
    for (const [entitlementSlug, value] of Object.entries(grants)) {
      const overage = typeof value === "number" && value > 0 ? { overagePercent: 20 } : {}
      const grant = { entitlementSlug, value, ...overage }
      yield* succeeds(call("POST", `/licenses/${slug}/entitlements`, grant), 201, Schema.Unknown)
    }
  }
  for (const key of flags) {
    yield* succeeds(
      call("POST", "/feature-flags", {
        key,
        type: "boolean",
        variants: [
          { name: "on", value: true },
          { name: "off", value: false },
        ],
        defaultVariant: "off",
        targetings: [{ name: "A quarter first", conditions: [], variant: "on", percentage: 25 }],
      }),
      201,
      Schema.Unknown,
    )
  }
})

/** Ships two releases to all zones, so that each has a history. */
const shipReleases = Effect.fnUntraced(function* (call: Calls) {
  const { expectEmpty, expectSuccess: succeeds } = yield* Stage
  const deployed = new Map<string, { readonly id: string; readonly slug: string }>()
  for (const version of ["2026.1", "2026.2"]) {
    const built = yield* Effect.forEach(components, (name) =>
      succeeds(call("POST", "/components", { name, version: `${version}.0` }), 201, WithId),
    )
    const componentIds = built.map(({ id }) => id)
    const release = yield* succeeds(call("POST", "/releases", { version, componentIds }), 201, WithId)
    for (const name of zones) {
      const zone = deployed.get(name)
      if (zone !== undefined) {
        yield* expectEmpty(call("PUT", `/deployment-zones/${zone.slug}`, { releaseId: release.id }))
        continue
      }
      const created = call("POST", "/deployment-zones", { name, type: "production", releaseId: release.id })
      deployed.set(name, yield* succeeds(created, 201, WithSlug))
    }
  }
  return [...deployed.values()].map(({ id }) => id)
})

const sell = Effect.fnUntraced(function* (call: Calls, zoneIds: ReadonlyArray<string>, names: ReadonlyArray<string>) {
  const { expectSuccess: succeeds } = yield* Stage
  const start = (yield* now).getTime() - YEAR_DAYS * DAY_MS
  const sold = yield* Effect.forEach(
    names,
    Effect.fnUntraced(function* (name) {
      // Each customer is the same in every extent.
      const customer = customers.indexOf(name)
      const { slug: customerSlug } = yield* succeeds(
        call("POST", "/customers", { name, externalCustomerId: `crm-${4_700 + customer}` }),
        201,
        WithSlug,
      )
      return yield* Effect.forEach(
        purposes,
        Effect.fnUntraced(function* (purpose, index) {
          const number = customer * purposes.length + index
          const version = versions[number % versions.length] as Version
          const { slug } = yield* succeeds(
            call("POST", "/instances", {
              name: `${name} ${purpose}`,
              customerSlug,
              licenseSlug: version.slug,
              startLicenseDate: new Date(start),
              // The terms of some end within weeks, of others in a year.
              endLicenseDate: new Date(start + (YEAR_DAYS + 10 + ((number * 37) % YEAR_DAYS)) * DAY_MS),
              deploymentZoneId: zoneIds[number % zoneIds.length],
            }),
            201,
            WithSlug,
          )
          return { slug, version, intensity: 0.6 + ((number * 7) % 13) / 20 }
        }),
      )
    }),
    { concurrency: CONCURRENCY },
  )
  return sold.flat()
})

const reportRecentUsage = Effect.fnUntraced(function* (
  call: Calls,
  instances: ReadonlyArray<FurnishedInstance>,
  count: number,
) {
  const { expectSuccess: succeeds } = yield* Stage
  const today = (yield* now).getTime()
  const days = Array.from({ length: count }, (_, index) => new Date(today - (count - index) * DAY_MS))
  const events = days.flatMap((day) => instances.flatMap((instance) => usageOfDay(instance, day)))
  for (const batch of Arr.chunksOf(events, MAX_EVENTS))
    yield* succeeds(call("POST", "/usage-events", batch), 200, Results)
})

const EVERYTHING: Extent = { customers, days: RECENT_DAYS }

/** Furnishes a new organization. Prints a line for each step. */
export const furnish = Effect.fn("Demo.furnish")(function* (
  operator: Redacted.Redacted,
  { customers: names, days }: Extent = EVERYTHING,
) {
  const { expectSuccess: succeeds, print } = yield* Stage
  yield* print("Furnishing an organization. This takes a moment.")
  const organization = yield* openOrganization(operator)
  const call = as(organization.token)
  const endpoint = { url: UNREACHABLE, eventNames: ["RELEASE_DEPLOYED", "LICENSE_CREATED"], description: "ERP (away)" }
  yield* succeeds(as(organization.token, "webhooks")("POST", "/webhooks", endpoint), 201, WithId)
  yield* createCatalogue(call)
  const zoneIds = yield* shipReleases(call)
  yield* print(`  ${versions.length} license versions, ${entitlements.length} entitlements, ${zones.length} zones`)
  const instances = yield* sell(call, zoneIds, names)
  yield* print(`  ${names.length} customers with ${instances.length} instances`)
  yield* reportRecentUsage(call, instances, days)
  yield* print(`  the usage of ${days} days`)
  const furnished: Furnished = { ...organization, instances }
  return furnished
})
