/** Creates license versions. */
import { Effect, Option } from "effect"
import { Events } from "../../events/Service.ts"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { invalid } from "../../../kernel/contract/Problem.ts"
import { Transactions } from "../../../kernel/database/Transactions.ts"
import { newId } from "../../../kernel/values/Identifiers.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { CreateLicenseDefaultMustBePublished } from "../Errors.ts"
import { DEFAULT_AWAY } from "../Model.ts"
import type { CreateLicense } from "../Model.ts"
import { LicensesRepo } from "../Repo.ts"
import { graceError } from "../Rules.ts"
import { onlyPublished } from "./DefaultVersion.ts"
import { newVersions, unknownFamilyId, unknownFamilySlug } from "./NewVersions.ts"
import type { NewLicense } from "./NewVersions.ts"

/** Creates a version in the family that the body names, or in a new one. */
export const creation = Effect.gen(function* () {
  const repo = yield* LicensesRepo
  const events = yield* Events
  const transactions = yield* Transactions
  const { addVersion, openFamily } = yield* newVersions

  /** The family that a body names, none if it names none. */
  const familyOf = Effect.fnUntraced(function* (organizationId: OrganizationId, input: CreateLicense) {
    const slug = input.familySlug ?? null
    const id = input.familyId ?? null
    const familyBySlug = slug === null ? Option.none() : yield* repo.findFamily(organizationId, slug)
    const familyById = id === null ? Option.none() : yield* repo.findFamilyById(organizationId, id)
    if (slug !== null && Option.isNone(familyBySlug)) return yield* invalid("body.familySlug", unknownFamilySlug, slug)
    if (id !== null && Option.isNone(familyById)) return yield* invalid("body.familyId", unknownFamilyId, id)
    if (Option.isSome(familyBySlug) && Option.isSome(familyById) && familyBySlug.value.id !== familyById.value.id) {
      return yield* invalid("body.familyId", "must be the id of the family that familySlug names", id)
    }
    return Option.orElse(familyBySlug, () => familyById)
  })

  return Effect.fn("Licenses.create")(function* (input: CreateLicense) {
    const caller = yield* Caller
    const at = yield* now
    const license: NewLicense = {
      id: yield* newId,
      name: input.name,
      versionName: input.versionName ?? null,
      description: input.description ?? null,
      type: input.type,
      isDefault: input.isDefault ?? false,
      lifecycleState: input.lifecycleState ?? "PUBLISHED",
      graceDays: input.graceDays ?? 0,
      away: { ...DEFAULT_AWAY, ...input.away },
      createdAt: at,
      updatedAt: at,
      createdBy: caller.actor,
      updatedBy: caller.actor,
    }
    const grace = graceError(license)
    if (grace !== undefined) return yield* invalid("body.graceDays", grace, license.graceDays)
    return yield* transactions.run(
      Effect.gen(function* () {
        const family = yield* familyOf(caller.organizationId, input)
        if (license.isDefault && license.lifecycleState !== "PUBLISHED") {
          return yield* new CreateLicenseDefaultMustBePublished(onlyPublished)
        }
        const record = Option.isNone(family)
          ? yield* openFamily(caller.organizationId, input, license)
          : yield* addVersion(caller, family.value, input, license)
        yield* events.emit(caller, "LICENSE_CREATED", record)
        return record
      }),
    )
  })
})
