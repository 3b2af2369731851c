/** Builds the migration that a request describes. */
import { Effect, Option } from "effect"
import { Caller } from "../../kernel/contract/Caller.ts"
import { failWithErrors, invalid, noSuch } from "../../kernel/contract/Problem.ts"
import { newId } from "../../kernel/values/Identifiers.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import { Customers } from "../customers/Service.ts"
import { LicenseNotFound } from "../licenses/Errors.ts"
import { isAddOn, lastEndBefore } from "../licenses/Model.ts"
import type { License } from "../licenses/Model.ts"
import { Licenses } from "../licenses/Service.ts"
import { MigrateLicenseArchived } from "./Errors.ts"
import type { MigrateLicense } from "./Model.ts"
import { MigrationsRepo } from "./Repo.ts"
import type { MigrationRow } from "./Repo.ts"
import { kindError, namingErrors, namingProperty } from "./Rules.ts"

const MAX_TOTAL = 2_000_000_000

const PASSES_LAST_YEAR =
  "must be a license version whose days of grace end within the year 9999 for each instance that is moved"

/** Finds the license version that the instances move to. */
const targetReader = Effect.map(Licenses, (licenses) =>
  Effect.fnUntraced(function* (organizationId: OrganizationId, fromId: string, input: MigrateLicense) {
    const property = namingProperty(input)
    const slug = input[property] ?? ""
    const isVersion = property === "toLicenseSlug"
    const found = yield* licenses.resolve(
      organizationId,
      isVersion ? { licenseSlug: slug } : { licenseFamilySlug: slug },
    )
    if (Option.isNone(found)) {
      const kind = isVersion ? "license" : "license family with a published version"
      return yield* invalid(`body.${property}`, `must be the slug of an existing ${kind}`, slug)
    }
    if (found.value.id === fromId) return yield* invalid(`body.${property}`, "must be another license version", slug)
    if (found.value.lifecycleState === "ARCHIVED") {
      return yield* new MigrateLicenseArchived({
        detail: `The license version "${found.value.slug}" is archived. Choose another version or unarchive it first.`,
      })
    }
    return found.value
  }),
)

/** Builds the row of the requested migration, and locks its customer shared. The row is not stored yet. */
export const planning = Effect.gen(function* () {
  const repo = yield* MigrationsRepo
  const licenses = yield* Licenses
  const customers = yield* Customers
  const targetOf = yield* targetReader

  const customerIdOf = Effect.fnUntraced(function* (organizationId: OrganizationId, slug: string | undefined) {
    if (slug === undefined) return null
    const customer = yield* customers.lockShared(organizationId, { customerSlug: slug })
    return Option.isSome(customer)
      ? customer.value.id
      : yield* invalid("body.customer", "must be the slug of an existing customer", slug)
  })

  /** Rejects a license version whose days of grace pass the year 9999 for an instance that would be moved. */
  const requireGraceEnds = Effect.fnUntraced(function* (
    row: MigrationRow,
    { from, property, to }: { readonly from: License; readonly to: License; readonly property: string },
  ) {
    if (to.graceDays <= from.graceDays || !(yield* repo.hasLateEnd(row, lastEndBefore(to.graceDays)))) return
    yield* invalid(`body.${property}`, PASSES_LAST_YEAR, to.slug)
  })

  return Effect.fnUntraced(function* (licenseSlug: string, input: MigrateLicense) {
    const { actor, credential, organizationId } = yield* Caller
    yield* failWithErrors(namingErrors(input))
    const from = yield* licenses.resolve(organizationId, { licenseSlug })
    if (Option.isNone(from)) return yield* new LicenseNotFound({ detail: noSuch("license", licenseSlug) })
    const to = yield* targetOf(organizationId, from.value.id, input)
    const kind = kindError(from.value, to)
    if (kind !== undefined) return yield* invalid(`body.${namingProperty(input)}`, kind, to.slug)
    const customerId = yield* customerIdOf(organizationId, input.customer)
    const at = yield* now
    const row: MigrationRow = {
      organizationId,
      id: yield* newId,
      from: from.value.slug,
      fromLicenseId: from.value.id,
      to: to.slug,
      toLicenseId: to.id,
      customerId,
      instanceSlugs: input.instances === undefined ? null : [...new Set(input.instances)],
      state: "SCHEDULED",
      at: input.at ?? at,
      counts: { total: 0, moved: 0, skipped: 0, failed: 0 },
      processed: 0,
      cursorId: null,
      revertedTo: 0,
      createdAt: at,
      createdBy: actor,
      createdWith: credential,
      finishedAt: null,
      revertedBy: null,
      revertedWith: null,
    }
    const total = row.instanceSlugs?.length ?? (yield* repo.count(row, MAX_TOTAL, isAddOn(to) ? at : null))
    yield* requireGraceEnds(row, { from: from.value, to, property: namingProperty(input) })
    return { ...row, counts: { ...row.counts, total } }
  })
})
