/** The rows of new license versions: the first one of a new family, or the next one of an existing family. */
import { Effect, Option } from "effect"
import type { Caller } from "../../../kernel/contract/Caller.ts"
import { invalid } from "../../../kernel/contract/Problem.ts"
import { newId } from "../../../kernel/values/Identifiers.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { slugify, insertWithFreeSlug } from "../../../kernel/values/Slug.ts"
import { CreateLicenseSlugTaken } from "../Errors.ts"
import type { CreateLicense, License } from "../Model.ts"
import { LicensesRepo } from "../Repo.ts"
import type { FamilyRow } from "../Repo.ts"
import { kindError, slugOfVersion } from "../Rules.ts"
import { defaultClearing } from "./DefaultVersion.ts"

/** A version without what its family decides. */
export type NewLicense = Omit<License, "familyId" | "familySlug" | "slug" | "version">

/** What a body must name as `familyId` and `familySlug`. */
export const unknownFamilyId = "must be the id of an existing license family"
export const unknownFamilySlug = "must be the slug of an existing license family"

const slugTaken = (slug: string) =>
  new CreateLicenseSlugTaken({
    detail: `Another license or license family has the slug "${slug}". Choose a different slug.`,
  })

/** Stores new versions. */
export const newVersions = Effect.gen(function* () {
  const repo = yield* LicensesRepo
  const clearDefault = yield* defaultClearing

  /** Creates a family and its first version under the same slug. */
  const openFamily = Effect.fnUntraced(function* (
    organizationId: OrganizationId,
    input: CreateLicense,
    license: NewLicense,
  ) {
    const familyId = yield* newId
    const { createdAt, createdBy } = license
    const versionWith = (slug: string): License => ({ ...license, familyId, familySlug: slug, slug, version: "1" })
    const slug = yield* insertWithFreeSlug({
      explicit: input.slug,
      suggested: slugify(input.name, "license"),
      taken: slugTaken,
      insert: Effect.fnUntraced(function* (slug) {
        if (!(yield* repo.insertFamily(organizationId, { id: familyId, slug, createdAt, createdBy }))) return false
        if (yield* repo.insert(organizationId, versionWith(slug))) return true
        yield* repo.deleteFamily(organizationId, familyId)
        return false
      }),
    })
    return versionWith(slug)
  })

  /** Adds the next version to an existing family. */
  const addVersion = Effect.fnUntraced(function* (
    caller: Caller["Service"],
    family: FamilyRow,
    input: CreateLicense,
    license: NewLicense,
  ) {
    const next = yield* repo.nextVersion(caller.organizationId, family.id)
    // A concurrent request deleted the last version and with it the family.
    if (Option.isNone(next)) {
      return yield* (input.familySlug ?? null) === null
        ? invalid("body.familyId", unknownFamilyId, input.familyId)
        : invalid("body.familySlug", unknownFamilySlug, input.familySlug)
    }
    // The lock of the family keeps its versions.
    const [newest] = yield* repo.listVersions(caller.organizationId, family.id, 1)
    const kind = newest && kindError(newest, license)
    if (kind !== undefined) return yield* invalid("body.type", kind, license.type)
    if (license.isDefault) yield* clearDefault(caller, family.id, license.createdAt)
    const { version } = next.value
    const versionWith = (slug: string): License => ({
      ...license,
      familyId: family.id,
      familySlug: family.slug,
      slug,
      version: String(version),
    })
    const slug = yield* insertWithFreeSlug({
      explicit: input.slug,
      suggested: slugOfVersion(family.slug, version),
      insert: (slug) => repo.insert(caller.organizationId, versionWith(slug)),
      taken: slugTaken,
    })
    return versionWith(slug)
  })

  return { openFamily, addVersion }
})
