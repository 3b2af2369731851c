/**
 * Caches catalogs for checks: the entitlements of an organization and the grants of its licenses. Each change gives the
 * catalog another version, and the database returns the version with every check. So no node ever uses an outdated
 * catalog, and a check need not read what has not changed (`docs/adr/0008-catalog-cache.md`).
 */
import { decimalOrZero } from "../../../../kernel/values/Decimal.ts"
import { instantText, isBefore, isSameInstant } from "../../../../kernel/values/Timestamp.ts"
import type { OrganizationId } from "../../../../kernel/values/Identifiers.ts"
import type { CatalogRow, CheckQuestion, UsageRow, WantedUsage } from "./Repo.ts"
import type { Basis, Grant } from "../../rules/Decision.ts"
import type { CheckedEntitlement, CheckedInstance } from "../../rules/Terms.ts"
import { contains } from "../../rules/Period.ts"
import type { Period } from "../../rules/Period.ts"
import { grantAt, licensedGrant } from "../../rules/Grant.ts"
import { periodOf } from "../../rules/Terms.ts"
import type { CheckBasis } from "../../rules/CheckBasis.ts"

interface CachedEntitlement extends Pick<CheckedEntitlement, "type" | "resetPeriod" | "resetAnchor"> {
  readonly slug: string
  readonly id: string
  /** Whether its usage is how many hold a lease. */
  readonly isLeased: boolean
}

interface CachedLicense {
  readonly slug: string
  readonly graceDays: number
  /** What the license itself grants, by the slug of the entitlement; `null` if nothing. */
  readonly grants: Map<string, Grant | null>
}

interface Catalog {
  readonly version: string | null
  /** By slug. */
  readonly entitlements: Map<string, CachedEntitlement>
  /** By id. */
  readonly licenses: Map<string, CachedLicense>
}

/** An entitlement of a check, and where the rows contain its usage. */
interface QueriedEntitlement {
  readonly entitlement: CachedEntitlement
  readonly period: Period | null
  /** The index of the question, and the index in its row; -1 if usage is not measured. */
  readonly question: number
  readonly index: number
}

/** What is left to read for a check whose catalog is cached, and how its rows are read. */
export interface UsageQuery {
  /** Each {@link WantedUsage} as JSON. */
  readonly questions: ReadonlyArray<string>
  readonly entitlements: ReadonlyArray<QueriedEntitlement>
  readonly catalog: Catalog
  /** The license start from which periods were computed, if any were. */
  readonly startLicenseDate: Date | undefined
}

const MAX_FACTS = 50_000

const needsStart = ({ resetAnchor, resetPeriod, type }: CachedEntitlement): boolean =>
  type === "NUMBER" && (resetPeriod === null || resetAnchor === "LICENSE_START")

/** The items of an array of numbers in PostgreSQL's text format: `{12,NULL,0.5}`. */
const itemsOf = (array: string): ReadonlyArray<string | null> =>
  array
    .slice(1, -1)
    .split(",")
    .map((item) => (item === "NULL" ? null : item))

/** Whether allowances may be open. They are read with the catalog only. */
const isAllowing = (allowancesUntil: Date | null | undefined, at: Date): boolean =>
  allowancesUntil !== null && allowancesUntil !== undefined && isBefore(at, allowancesUntil)

/** The cache of one process. */
export interface CatalogCache {
  /**
   * What is left to read for a check; `undefined` if not all of its catalog is cached, or the instance has allowances or add-ons.
   */
  readonly usageQueryOf: (question: CheckQuestion) => UsageQuery | undefined
  /** Whether a query is still right at the instant of the check. */
  readonly isCurrent: (query: UsageQuery, question: CheckQuestion) => boolean
  /**
   * The basis of a check from the rows of its usage; `undefined` if they belong to another catalog, or leave out
   * allowances or add-ons.
   */
  readonly basisOf: (
    query: UsageQuery,
    instanceSlug: string,
    rows: ReadonlyArray<UsageRow>,
    at: Date,
  ) => CheckBasis | undefined
  /** Caches the catalog rows of a check. Cached facts stay as they are: within a version nothing changes. */
  readonly learn: (question: CheckQuestion, rows: ReadonlyArray<CatalogRow>) => void
}

const nameOf = ({ instance, organizationId }: CheckQuestion): string => `${organizationId} ${instance}`

/** What is cached. */
const makeFacts = (maxFacts: number) => {
  const catalogs = new Map<string, Catalog>()
  const starts = new Map<string, Date>()
  /** Until when instances have allowances. */
  const allowances = new Map<string, Date>()
  /** Instances that have agreed something beside their license, as of the last row with a catalog. */
  const extended = new Map<string, true>()
  let facts = 0

  const store = <Key, Fact>(cache: Map<Key, Fact>, key: Key, fact: Fact): Fact => {
    if (!cache.has(key)) facts++
    cache.set(key, fact)
    return fact
  }

  const catalogOf = (organizationId: OrganizationId, version: string | null): Catalog => {
    const known = catalogs.get(organizationId)
    if (known?.version === version) return known
    return store(catalogs, organizationId, { version, entitlements: new Map(), licenses: new Map() })
  }

  /** Clears all facts if they exceed the maximum. */
  const clearIfFull = (): void => {
    if (facts <= maxFacts) return
    catalogs.clear()
    starts.clear()
    allowances.clear()
    extended.clear()
    facts = 0
  }

  return { catalogs, starts, allowances, extended, store, catalogOf, clearIfFull }
}

type Facts = ReturnType<typeof makeFacts>

const queriesFrom =
  ({ allowances, catalogs, extended, starts }: Facts): CatalogCache["usageQueryOf"] =>
  (question) => {
    const { at, entitlements, instance, organizationId } = question
    const catalog = catalogs.get(organizationId)
    if (catalog === undefined || extended.has(nameOf(question))) return undefined
    if (isAllowing(allowances.get(nameOf(question)), at)) return undefined
    const queried: Array<QueriedEntitlement> = []
    const questions: Array<WantedUsage & { readonly entitlementIds: Array<string> }> = []
    // The starts of the periods of these questions; leases have their own.
    const periodStarts: Array<string> = []
    let startLicenseDate: Date | undefined
    for (const slug of entitlements) {
      const entitlement = catalog.entitlements.get(slug)
      if (entitlement === undefined) return undefined
      if (needsStart(entitlement)) {
        startLicenseDate ??= starts.get(nameOf(question))
        if (startLicenseDate === undefined) return undefined
      }
      const period = periodOf(entitlement, { startLicenseDate: startLicenseDate ?? at }, at)
      if (period === null) {
        queried.push({ entitlement, period, question: 0, index: -1 })
        continue
      }
      const { isLeased } = entitlement
      const name = `${period.start.getTime()}${isLeased ? " leased" : ""}`
      let number = periodStarts.indexOf(name)
      if (number === -1) {
        number = periodStarts.push(name) - 1
        const asked = { organizationId, instance, entitlementIds: [], periodStart: instantText(period.start) }
        questions.push(isLeased ? { ...asked, leased: true } : asked)
      }
      const ids = questions[number]?.entitlementIds ?? []
      queried.push({ entitlement, period, question: number, index: ids.push(entitlement.id) - 1 })
    }
    if (questions.length === 0) {
      questions.push({ organizationId, instance, entitlementIds: [], periodStart: instantText(at) })
    }
    const texts = questions.map((wanted) => JSON.stringify(wanted))
    return { questions: texts, entitlements: queried, catalog, startLicenseDate }
  }

const basisOf: CatalogCache["basisOf"] = (
  { entitlements, catalog, startLicenseDate }: UsageQuery,
  instanceSlug: string,
  rows: ReadonlyArray<UsageRow>,
  at: Date,
): CheckBasis | undefined => {
  const [first] = rows
  const license = first === undefined ? undefined : catalog.licenses.get(first.licenseId)
  if (first === undefined || license === undefined || isAllowing(first.allowancesUntil, at)) return undefined
  if (first.hasExtras) return undefined
  if (rows.some(({ catalogVersion }) => catalogVersion !== catalog.version)) return undefined
  if (startLicenseDate !== undefined && !isSameInstant(startLicenseDate, first.startLicenseDate)) return undefined
  const used = rows.map((row) => itemsOf(row.used))
  const held = rows.map((row) => (row.held === null ? [] : itemsOf(row.held)))
  const bases: Array<Basis> = []
  for (const { entitlement, index, period, question } of entitlements) {
    const licensed = license.grants.get(entitlement.slug)
    if (licensed === undefined) return undefined
    const override = first.overrides?.[entitlement.id]
    const grant = override === undefined ? licensed : grantAt(licensed, { addOns: null, override }, at)
    const usage = decimalOrZero(used[question]?.[index])
    bases.push({ entitlement, grant, usage, held: decimalOrZero(held[question]?.[index]), period })
  }
  const { endLicenseDate, graceDays, startLicenseDate: start } = first
  const instance: CheckedInstance = {
    instance: instanceSlug,
    license: license.slug,
    startLicenseDate: start,
    endLicenseDate,
    graceDays: graceDays ?? license.graceDays,
  }
  return { instance, bases }
}

const learningInto =
  ({ allowances, catalogOf, clearIfFull, extended, starts, store }: Facts): CatalogCache["learn"] =>
  (question, rows) => {
    clearIfFull()
    const until = rows[0]?.allowancesUntil
    if (rows[0]?.hasExtras === true) store(extended, nameOf(question), true)
    else extended.delete(nameOf(question))
    if (isAllowing(until, question.at)) store(allowances, nameOf(question), until ?? question.at)
    for (const row of rows) {
      const catalog = catalogOf(question.organizationId, row.catalogVersion)
      const license =
        catalog.licenses.get(row.licenseId) ??
        store(catalog.licenses, row.licenseId, {
          slug: row.license,
          graceDays: row.licenseGraceDays,
          grants: new Map<string, Grant | null>(),
        })
      if (row.entitlement === null) continue
      const { aggregationMethod, entitlement: slug, entitlementId: id, resetAnchor, resetPeriod, type } = row
      const isLeased = aggregationMethod === "CONCURRENT"
      const entitlement =
        catalog.entitlements.get(slug) ??
        store(catalog.entitlements, slug, { slug, id, type, resetPeriod, resetAnchor, isLeased })
      if (!license.grants.has(slug)) store(license.grants, slug, licensedGrant(row))
      if (!needsStart(entitlement)) continue
      const known = starts.get(nameOf(question))
      if (known === undefined || !isSameInstant(known, row.startLicenseDate)) {
        store(starts, nameOf(question), row.startLicenseDate)
      }
    }
  }

/** Creates the cache. Above the maximum of facts it is cleared, and filled again by the next checks. */
export const makeCatalogCache = (maxFacts = MAX_FACTS): CatalogCache => {
  const facts = makeFacts(maxFacts)
  const { catalogs } = facts

  return {
    usageQueryOf: queriesFrom(facts),
    isCurrent: ({ catalog, entitlements }, { at, organizationId }) =>
      catalogs.get(organizationId) === catalog &&
      entitlements.every(({ period }) => period === null || contains(period, at)),
    basisOf,
    learn: learningInto(facts),
  }
}
