/**
 * What checks remember of catalogs: what an organization's entitlements are and what its licenses grant. The database has another
 * version of the catalog for each change of it, and each answer of the database tells the version. So what is remembered is never
 * taken for what is no longer true, on no node; it saves reading what is the same as before (`docs/adr/0008-catalog-cache.md`).
 */
import { instantText, isSameInstant } from "../../../../kernel/values/Timestamp.ts"
import type { CatalogRow, CheckQuestion, UsageRow, WantedUsage } from "./Repo.ts"
import type { Basis, Grant } from "../../rules/Decision.ts"
import type { CheckedEntitlement, CheckedInstance } from "../../rules/Terms.ts"
import { contains } from "../../rules/Period.ts"
import type { Period } from "../../rules/Period.ts"
import { decimalOrZero, grantOf, periodOf } from "../../rules/Terms.ts"
import type { CheckBasis } from "../../rules/CheckBasis.ts"

interface KnownEntitlement extends Pick<CheckedEntitlement, "type" | "resetPeriod" | "resetAnchor"> {
  readonly slug: string
  readonly id: string
}

interface KnownLicense {
  readonly slug: string
  /** By the slug of the entitlement; `null`: it is not granted. */
  readonly grants: Map<string, Grant | null>
}

interface Catalog {
  readonly version: string | null
  /** By slug. */
  readonly entitlements: Map<string, KnownEntitlement>
  /** By id. */
  readonly licenses: Map<string, KnownLicense>
}

/** An entitlement of a check, and where the answer tells its usage. */
interface QueriedEntitlement {
  readonly entitlement: KnownEntitlement
  readonly period: Period | null
  /** The number of the question, and the place in its answer. */
  readonly question: number
  readonly place: number
}

/** What is left to ask for a check, and how its answer is read. */
export interface UsageQuery {
  /** Each {@link WantedUsage} as JSON. */
  readonly questions: ReadonlyArray<string>
  readonly entitlements: ReadonlyArray<QueriedEntitlement>
  readonly catalog: Catalog
  /** The start of the license that periods were computed from, if any. */
  readonly startLicenseDate: Date | undefined
}

const MOST_FACTS = 50_000

const needsStart = ({ resetAnchor, resetPeriod, type }: KnownEntitlement): boolean =>
  type === "NUMBER" && (resetPeriod === null || resetAnchor === "LICENSE_START")

/** The items of PostgreSQL's text of an array of numbers: `{12,NULL,0.5}`. */
const itemsOf = (array: string): ReadonlyArray<string | null> =>
  array
    .slice(1, -1)
    .split(",")
    .map((item) => (item === "NULL" ? null : item))

/** The memory of one process. It forgets everything when it holds more than so many facts, and is told again by the next checks. */
export const makeCatalogCache = (mostFacts = MOST_FACTS) => {
  const catalogs = new Map<string, Catalog>()
  const starts = new Map<string, Date>()
  let facts = 0

  const remember = <Name, Fact>(known: Map<Name, Fact>, name: Name, fact: Fact): Fact => {
    if (!known.has(name)) facts++
    known.set(name, fact)
    return fact
  }

  const nameOf = ({ instance, organizationId }: CheckQuestion): string => `${organizationId} ${instance}`

  const catalogOf = (organizationId: string, version: string | null): Catalog => {
    const known = catalogs.get(organizationId)
    if (known?.version === version) return known
    return remember(catalogs, organizationId, { version, entitlements: new Map(), licenses: new Map() })
  }

  return {
    /** What is left to ask for a check; nothing if not all that it asks for is known. */
    usageQueryOf: (question: CheckQuestion): UsageQuery | undefined => {
      const { at, entitlements, instance, organizationId } = question
      const catalog = catalogs.get(organizationId)
      if (catalog === undefined) return undefined
      const asked: Array<QueriedEntitlement> = []
      const questions: Array<WantedUsage & { readonly entitlementIds: Array<string> }> = []
      // When the periods of these questions start.
      const starting: Array<number> = []
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
          asked.push({ entitlement, period, question: 0, place: -1 })
          continue
        }
        let number = starting.indexOf(period.start.getTime())
        if (number === -1) {
          number = starting.push(period.start.getTime()) - 1
          questions.push({ organizationId, instance, entitlementIds: [], periodStart: instantText(period.start) })
        }
        const ids = questions[number]?.entitlementIds ?? []
        asked.push({ entitlement, period, question: number, place: ids.push(entitlement.id) - 1 })
      }
      if (questions.length === 0) {
        questions.push({ organizationId, instance, entitlementIds: [], periodStart: instantText(at) })
      }
      const texts = questions.map((wanted) => JSON.stringify(wanted))
      return { questions: texts, entitlements: asked, catalog, startLicenseDate }
    },

    /** Whether the same is left to ask at this instant. */
    isCurrent: ({ entitlements: asked, catalog }: UsageQuery, { at, organizationId }: CheckQuestion): boolean =>
      catalogs.get(organizationId) === catalog && asked.every(({ period }) => period === null || contains(period, at)),

    /** How the instance stands by the answers to what was asked for; nothing if they are of another catalog. */
    basisOf: (
      { entitlements: asked, catalog, startLicenseDate }: UsageQuery,
      instanceSlug: string,
      answers: ReadonlyArray<UsageRow>,
    ): CheckBasis | undefined => {
      const [first] = answers
      const license = first === undefined ? undefined : catalog.licenses.get(first.licenseId)
      if (first === undefined || license === undefined) return undefined
      if (answers.some(({ catalogVersion }) => catalogVersion !== catalog.version)) return undefined
      if (startLicenseDate !== undefined && !isSameInstant(startLicenseDate, first.startLicenseDate)) return undefined
      const used = answers.map((answer) => itemsOf(answer.used))
      const held = answers.map((answer) => (answer.held === null ? [] : itemsOf(answer.held)))
      const bases: Array<Basis> = []
      for (const { entitlement, period, place, question } of asked) {
        const grant = license.grants.get(entitlement.slug)
        if (grant === undefined) return undefined
        const usage = decimalOrZero(used[question]?.[place])
        bases.push({ entitlement, grant, usage, held: decimalOrZero(held[question]?.[place]), period })
      }
      const { endLicenseDate, startLicenseDate: start } = first
      const instance: CheckedInstance = {
        instance: instanceSlug,
        license: license.slug,
        startLicenseDate: start,
        endLicenseDate,
      }
      return { instance, bases }
    },

    /** Remembers what the database told of a check's catalog. What is known stays as it is: under one version nothing changes. */
    learn: (question: CheckQuestion, rows: ReadonlyArray<CatalogRow>): void => {
      if (facts > mostFacts) {
        catalogs.clear()
        starts.clear()
        facts = 0
      }
      for (const row of rows) {
        const catalog = catalogOf(question.organizationId, row.catalogVersion)
        const license =
          catalog.licenses.get(row.licenseId) ??
          remember(catalog.licenses, row.licenseId, { slug: row.license, grants: new Map<string, Grant | null>() })
        if (row.entitlement === null) continue
        const { entitlement: slug, entitlementId: id, resetAnchor, resetPeriod, type } = row
        const entitlement =
          catalog.entitlements.get(slug) ??
          remember(catalog.entitlements, slug, { slug, id, type, resetPeriod, resetAnchor })
        if (!license.grants.has(slug)) remember(license.grants, slug, grantOf(row))
        if (!needsStart(entitlement)) continue
        const known = starts.get(nameOf(question))
        if (known === undefined || !isSameInstant(known, row.startLicenseDate)) {
          remember(starts, nameOf(question), row.startLicenseDate)
        }
      }
    },
  }
}

export type CatalogCache = ReturnType<typeof makeCatalogCache>
