/**
 * Caches the serialized answers of checks: products repeat the same check all day, mostly without usage in between. The
 * database decides whether an answer is still right: a cached one is returned only if the rows are the same as the last
 * two times (`docs/adr/0009-cached-answers.md`).
 */
import { makeLruCache } from "../../../../kernel/concurrency/LruCache.ts"
import { isSameInstant } from "../../../../kernel/values/Timestamp.ts"
import type { CheckBasis } from "../../rules/CheckBasis.ts"
import { graceEndAt, isRunning } from "../../rules/Decision.ts"
import type { CheckedInstance } from "../../rules/Terms.ts"
import { answersAsText, answersTo, responseText } from "../CheckResponse.ts"
import type { CheckRequest } from "../Model.ts"
import type { CatalogCache, UsageQuery } from "./CatalogCache.ts"
import type { CheckQuestion, UsageRow } from "./Repo.ts"

type Checks = CheckRequest["checks"]

/** A basis that the database returned twice, with the answers that were serialized for it last. */
class RepeatedBasis implements CheckBasis {
  readonly instance: CheckedInstance
  readonly bases: CheckBasis["bases"]
  /** The amounts of the request that {@link text} answers. */
  private requested: ReadonlyArray<number | undefined> = []
  private text: string | undefined

  constructor({ bases, instance }: CheckBasis) {
    this.instance = instance
    this.bases = bases
  }

  /** The serialized answers to a check at an instant when the license is running. */
  answersTo(checks: Checks, at: Date): string {
    if (this.text !== undefined && checks.every(({ requested }, position) => requested === this.requested[position])) {
      return this.text
    }
    this.requested = checks.map(({ requested }) => requested)
    this.text = answersAsText(answersTo(this, checks, at))
    return this.text
  }
}

/**
 * The response to a check as JSON text, with cached answers where there are any. The instant matters only for whether
 * the license is running: the basis belongs to the periods of its instant. So answers outside the license's dates, also
 * those in the grace period, are not cached.
 */
export const cachedResponseText = (basis: CheckBasis, checks: Checks, at: Date): string =>
  responseText(
    basis.instance,
    at,
    graceEndAt(basis.instance, at),
    basis instanceof RepeatedBasis && isRunning(basis.instance, at)
      ? basis.answersTo(checks, at)
      : answersAsText(answersTo(basis, checks, at)),
  )

// Of some 0.8 KB each.
const MAX_SIZE = 50_000

// All ids of organizations have the same length, and no requested name contains a NUL.
const nameOf = ({ entitlements, instance, organizationId }: CheckQuestion): string =>
  `${organizationId}${instance}\u0000${entitlements.join("\u0000")}`

const isSameRow = (one: UsageRow, other: UsageRow | undefined): boolean =>
  one.used === other?.used &&
  one.held === other.held &&
  one.licenseId === other.licenseId &&
  one.catalogVersion === other.catalogVersion &&
  isSameInstant(one.startLicenseDate, other.startLicenseDate) &&
  isSameInstant(one.endLicenseDate, other.endLicenseDate) &&
  one.graceDays === other.graceDays &&
  // What it has agreed is read with the catalog only.
  !one.hasExtras &&
  !other.hasExtras &&
  // Overrides start and end without a change of the row.
  one.overrides === null &&
  other.overrides === null

const areSameRows = (some: ReadonlyArray<UsageRow>, others: ReadonlyArray<UsageRow>): boolean =>
  some.length === others.length && some.every((row, position) => isSameRow(row, others[position]))

/** A check whose catalog is known, with what the database returned for it last. */
export class KnownCheck {
  readonly name: string
  readonly usage: UsageQuery
  private rows: ReadonlyArray<UsageRow> | undefined
  /** The basis of these rows, once they were returned twice. Rows that change each time are not worth caching. */
  private repeated: RepeatedBasis | undefined

  constructor(name: string, usage: UsageQuery) {
    this.name = name
    this.usage = usage
  }

  get isNew(): boolean {
    return this.rows === undefined
  }

  /** The basis of the rows, cached if they are repeated; `undefined` if they belong to another catalog. */
  basisOf(catalogs: CatalogCache, instance: string, rows: ReadonlyArray<UsageRow>, at: Date): CheckBasis | undefined {
    const isRepeated = this.rows !== undefined && areSameRows(rows, this.rows)
    if (isRepeated && this.repeated !== undefined) return this.repeated
    const basis = catalogs.basisOf(this.usage, instance, rows, at)
    if (basis === undefined) return undefined
    this.rows = rows
    this.repeated = isRepeated ? new RepeatedBasis(basis) : undefined
    return this.repeated ?? basis
  }
}

/** A check of one entitlement takes three times as much as each further entitlement adds. */
const sizeOf = ({ usage }: KnownCheck): number => 2 + usage.entitlements.length

/** The cache of one process, on top of its cache of catalogs. The least recently used checks are evicted. */
export const makeAnswerCache = (catalogs: CatalogCache, maxSize = MAX_SIZE) => {
  const checks = makeLruCache<KnownCheck>(maxSize, sizeOf)
  return {
    /** The cached check, or a new one; `undefined` if not all of its catalog is known. */
    knownCheckOf: (question: CheckQuestion): KnownCheck | undefined => {
      const name = nameOf(question)
      const known = checks.get(name)
      if (known !== undefined && catalogs.isCurrent(known.usage, question)) return known
      const usage = catalogs.usageQueryOf(question)
      return usage && new KnownCheck(name, usage)
    },

    /** The basis of a check from the rows of its usage; `undefined` if they belong to another catalog. */
    basisOf: (check: KnownCheck, instance: string, rows: ReadonlyArray<UsageRow>, at: Date): CheckBasis | undefined => {
      const { isNew } = check
      const basis = check.basisOf(catalogs, instance, rows, at)
      if (basis === undefined) checks.delete(check.name)
      else if (isNew) checks.set(check.name, check)
      return basis
    },
  }
}
