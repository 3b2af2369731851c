/**
 * Reads the rows of a snapshot with a cached catalog: all entitlements of an organization, and what a license grants. The database returns
 * the name of the present catalog with the usage, so a catalog is never used after a change (`docs/adr/0008-catalog-cache.md`).
 */
import { Effect, Option } from "effect"
import { makeLruCache } from "../../../kernel/concurrency/LruCache.ts"
import { isSameInstant } from "../../../kernel/values/Timestamp.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import type { StandingRow } from "../check/Repo.ts"
import type { AsOf } from "../terms/TermsSql.ts"
import { periodOf } from "../rules/Terms.ts"
import { StandingsRepo } from "./Repo.ts"
import type { CatalogEntry, UsageRow, WantedTotals } from "./Repo.ts"

/** The catalog of an instance, and from when on its periods are counted. */
interface KnownInstance {
  readonly name: string
  readonly startLicenseDate: Date
  /** `undefined`: they are read each time. */
  readonly entries: ReadonlyArray<CatalogEntry> | undefined
}

// Of some 300 bytes each. Instances of a license share their catalog, and a larger one is read each time.
const MAX_ENTRIES = 50_000
const MAX_CATALOG = 1_000
const MAX_INSTANCES = 20_000

/** How many hold a lease is no total, and without an entitlement there is no row. */
const canBeRead = (entries: ReadonlyArray<CatalogEntry>): boolean =>
  entries.length > 0 &&
  entries.length <= MAX_CATALOG &&
  entries.every(({ aggregationMethod }) => aggregationMethod !== "CONCURRENT")

/** The first finds the name of a catalog, the second the usage of its entitlements. */
const MAX_TRIES = 2

const nothingWanted: WantedTotals = { ids: [], periods: [] }

const nameOf = (organizationId: OrganizationId, row: UsageRow): string =>
  `${organizationId} ${row.licenseId} ${row.catalogVersion} ${row.entitlements}`

/** The measured entries, and the starts of their periods. */
const wantedOf = ({ entries = [], startLicenseDate }: KnownInstance, at: Date): WantedTotals => {
  const ids: Array<string> = []
  const periods: Array<Date> = []
  for (const entry of entries) {
    const period = periodOf(entry, { startLicenseDate }, at)
    if (period === null) continue
    ids.push(entry.id)
    periods.push(period.start)
  }
  return { ids, periods }
}

/** The rows as one statement over everything would return them. */
const rowsOf = (
  { entries = [] }: KnownInstance,
  { periods }: WantedTotals,
  row: UsageRow,
): ReadonlyArray<StandingRow> => {
  const { endLicenseDate, graceDays, held, instance, license, overrides, startLicenseDate, used } = row
  let measured = 0
  return entries.map((entry): StandingRow => {
    const place = entry.type === "NUMBER" ? measured++ : -1
    return {
      ...entry,
      instance,
      license,
      startLicenseDate,
      endLicenseDate,
      graceDays,
      addOns: null,
      override: overrides?.[entry.id] ?? null,
      periodStart: periods[place] ?? null,
      used: used[place] ?? null,
      held: held?.[place] ?? null,
      tranches: null,
      allowances: null,
      broughtIn: null,
    }
  })
}

/** Makes what reads the rows of all entitlements of an instance. `undefined`: they must be read without a cache. */
export const catalogReader = Effect.map(StandingsRepo, (repo) => {
  const catalogs = makeLruCache<ReadonlyArray<CatalogEntry>>(MAX_ENTRIES, ({ length }) => length + 1)
  const instances = makeLruCache<KnownInstance>(MAX_INSTANCES, () => 1)

  /** The catalog is read after its name: if it has changed meanwhile, the next snapshot does not find this name. */
  const learn = Effect.fnUntraced(function* (organizationId: OrganizationId, row: UsageRow) {
    const name = nameOf(organizationId, row)
    const found = catalogs.get(name) ?? (yield* repo.findCatalog(organizationId, row.instance))
    const entries = canBeRead(found) ? found : undefined
    if (entries !== undefined) catalogs.set(name, entries)
    const known: KnownInstance = { name, startLicenseDate: row.startLicenseDate, entries }
    instances.set(`${organizationId} ${row.instance}`, known)
    return known
  })

  const isOf = (known: KnownInstance, organizationId: OrganizationId, row: UsageRow): boolean =>
    known.name === nameOf(organizationId, row) && isSameInstant(known.startLicenseDate, row.startLicenseDate)

  return Effect.fnUntraced(function* (organizationId: OrganizationId, slug: string, asOf: AsOf) {
    const read = Effect.fnUntraced(function* (known: KnownInstance | undefined) {
      const wanted = known === undefined ? nothingWanted : wantedOf(known, asOf.at)
      return { wanted, row: Option.getOrUndefined(yield* repo.findUsage(organizationId, slug, wanted, asOf)) }
    })
    let known = instances.get(`${organizationId} ${slug}`)
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      if (known !== undefined && known.entries === undefined) return undefined
      const { row, wanted } = yield* read(known)
      if (row === undefined || row.isAllowing || row.hasExtras) return undefined
      if (known !== undefined && isOf(known, organizationId, row)) return rowsOf(known, wanted, row)
      known = yield* learn(organizationId, row)
    }
    return undefined
  })
})
