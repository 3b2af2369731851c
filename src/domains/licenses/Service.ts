/** Use cases of licenses: the versions of families. */
import { Context, Effect, Layer, Option } from "effect"
import { Events } from "../events/Service.ts"
import { Caller } from "../../kernel/contract/Caller.ts"
import { requireUnchanged } from "../../kernel/contract/Rewritable.ts"
import { newId } from "../../kernel/values/Identifiers.ts"
import { byId, Cursors, filtersOf } from "../../kernel/contract/Page.ts"
import type { PageRequest } from "../../kernel/contract/Page.ts"
import { invalid, noSuch } from "../../kernel/contract/Problem.ts"
import { slugify, insertWithFreeSlug } from "../../kernel/values/Slug.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import { Transactions } from "../../kernel/database/Transactions.ts"
import {
  CreateLicenseDefaultMustBePublished,
  CreateLicenseSlugTaken,
  DeleteLicenseInUse,
  DeleteLicenseNotADraft,
  LicenseNotFound,
  UpdateLicenseDefaultMustBePublished,
} from "./Errors.ts"
import { lastEndBefore, UpdateLicense } from "./Model.ts"
import type { CreateLicense, License, LicenseFilters } from "./Model.ts"
import { LicensesRepo } from "./Repo.ts"
import type { FamilyRow } from "./Repo.ts"
import { PASSES_LAST_YEAR, slugOfVersion } from "./Rules.ts"
import type { ValidationFailed, InvalidCursor } from "../../kernel/contract/Problem.ts"
import type { Page } from "../../kernel/contract/Page.ts"

/** Identifies a license by id, by slug, or by the family that resolves to it. */
export interface LicenseChoice {
  readonly licenseId?: string
  readonly licenseSlug?: string
  readonly licenseFamilySlug?: string
}

const notFound = (slug: string) => new LicenseNotFound({ detail: noSuch("license", slug) })
const unknownFamilyId = "must be the id of an existing license family"
const unknownFamilySlug = "must be the slug of an existing license family"
const onlyPublished = {
  detail: "A draft or archived version cannot be the default of its family. Publish it first.",
}

/** Manages license versions of the caller's organization. */
export class Licenses extends Context.Service<
  Licenses,
  {
    /** ??? */
    readonly create: (
      input: CreateLicense,
    ) => Effect.Effect<License, ValidationFailed | CreateLicenseDefaultMustBePublished | CreateLicenseSlugTaken, Caller>
    /** ??? */
    readonly get: (slug: string) => Effect.Effect<License, LicenseNotFound, Caller>
    /** ??? */
    readonly list: (request: PageRequest & LicenseFilters) => Effect.Effect<Page<License>, InvalidCursor, Caller>
    /** ??? */
    readonly update: (
      slug: string,
      input: UpdateLicense,
    ) => Effect.Effect<void, ValidationFailed | LicenseNotFound | UpdateLicenseDefaultMustBePublished, Caller>
    /** ??? */
    readonly delete: (
      slug: string,
    ) => Effect.Effect<void, LicenseNotFound | DeleteLicenseNotADraft | DeleteLicenseInUse, Caller>
    /** Resolves a choice to a version. None if it names none, or if its properties name different versions. */
    readonly resolve: (organizationId: string, choice: LicenseChoice) => Effect.Effect<Option.Option<License>>
    /** Reads a version and locks it: it cannot be archived before the transaction ends. */
    readonly lock: (organizationId: string, licenseId: string) => Effect.Effect<Option.Option<License>>
  }
>()("keyshelf/licenses/Licenses") {
  static readonly layer = Layer.effect(
    Licenses,
    Effect.suspend(() => make),
  )
}

const make = Effect.gen(function* () {
  const repo = yield* LicensesRepo
  const events = yield* Events
  const cursors = yield* Cursors
  const transactions = yield* Transactions

  /** Unsets the default of a family. The caller must hold the lock of the family. */
  const clearDefault = Effect.fnUntraced(function* (caller: Caller["Service"], familyId: string, at: Date) {
    const previous = yield* repo.lockDefault(caller.organizationId, familyId)
    if (Option.isNone(previous)) return
    const updated: License = { ...previous.value, isDefault: false, updatedAt: at, updatedBy: caller.actor }
    yield* repo.update(caller.organizationId, updated)
    yield* events.emitChange(caller, "LICENSE_UPDATED", previous.value, updated)
  })

  const familyOf = Effect.fnUntraced(function* (organizationId: string, input: CreateLicense) {
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

  type NewLicense = Omit<License, "familyId" | "familySlug" | "slug" | "version">
  const slugTaken = (slug: string) =>
    new CreateLicenseSlugTaken({
      detail: `Another license or license family has the slug "${slug}". Choose a different slug.`,
    })

  /** Creates a family and its first version under the same slug. */
  const openFamily = Effect.fnUntraced(function* (organizationId: string, input: CreateLicense, license: NewLicense) {
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

  const create = Effect.fn("Licenses.create")(function* (input: CreateLicense) {
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
      createdAt: at,
      updatedAt: at,
      createdBy: caller.actor,
      updatedBy: caller.actor,
    }
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

  const get = Effect.fnUntraced(function* (slug: string) {
    const { organizationId } = yield* Caller
    const license = yield* repo.findBySlug(organizationId, slug)
    return Option.isSome(license) ? license.value : yield* notFound(slug)
  })

  const list = Effect.fn("Licenses.list")(function* (request: PageRequest & LicenseFilters) {
    const { organizationId } = yield* Caller
    const filters = filtersOf(request)
    return yield* cursors.page(
      { name: "licenses", organizationId, filters },
      request,
      (after, count) => repo.list(organizationId, filters, after, count),
      byId,
    )
  })

  /** Rejects days of grace that pass the year 9999 for an instance of a locked license. */
  const requireWritableGrace = Effect.fnUntraced(function* (organizationId: string, { graceDays, id }: License) {
    if (yield* repo.hasInstanceThatEndsAfter(organizationId, { licenseId: id, after: lastEndBefore(graceDays) })) {
      yield* invalid("body.graceDays", PASSES_LAST_YEAR, graceDays)
    }
  })

  const update = Effect.fn("Licenses.update")(function* (slug: string, input: UpdateLicense) {
    const caller = yield* Caller
    yield* transactions.run(
      Effect.gen(function* () {
        // Lock the family before its versions: concurrent changes of the default are serialized and cannot deadlock.
        if (input.isDefault === true) yield* repo.lockFamilyOf(caller.organizationId, slug)
        const found = yield* repo.lockBySlug(caller.organizationId, slug)
        if (Option.isNone(found)) return yield* notFound(slug)
        const current = found.value
        yield* requireUnchanged(UpdateLicense, current, input)
        const updated: License = {
          ...current,
          name: input.name ?? current.name,
          type: input.type ?? current.type,
          description: input.description === undefined ? current.description : input.description,
          versionName: input.versionName === undefined ? current.versionName : input.versionName,
          isDefault: input.isDefault ?? current.isDefault,
          graceDays: input.graceDays ?? current.graceDays,
          updatedAt: yield* now,
          updatedBy: caller.actor,
        }
        if (updated.isDefault && updated.lifecycleState !== "PUBLISHED") {
          return yield* new UpdateLicenseDefaultMustBePublished(onlyPublished)
        }
        if (updated.graceDays > current.graceDays) yield* requireWritableGrace(caller.organizationId, updated)
        if (updated.isDefault && !current.isDefault) yield* clearDefault(caller, current.familyId, updated.updatedAt)
        yield* repo.update(caller.organizationId, updated)
        yield* events.emitChange(caller, "LICENSE_UPDATED", current, updated)
      }),
    )
  })

  const remove = Effect.fn("Licenses.delete")(function* (slug: string) {
    const caller = yield* Caller
    const { organizationId } = caller
    yield* transactions.run(
      Effect.gen(function* () {
        yield* repo.lockFamilyOf(organizationId, slug)
        const found = yield* repo.lockBySlug(organizationId, slug)
        if (Option.isNone(found)) return yield* notFound(slug)
        const license = found.value
        if (license.lifecycleState !== "DRAFT") {
          return yield* new DeleteLicenseNotADraft({
            detail: `The license "${slug}" is ${license.lifecycleState}. Only drafts can be deleted. Archive the license instead.`,
          })
        }
        if (yield* repo.isInUse(organizationId, license.id)) {
          return yield* new DeleteLicenseInUse({
            detail: `An instance uses the license "${slug}". Assign another license to it first.`,
          })
        }
        yield* repo.delete(organizationId, license.id)
        // Only drafts are deleted, so a family without versions was never on sale: its slug can be reused.
        if (!(yield* repo.hasVersions(organizationId, license.familyId))) {
          yield* repo.deleteFamily(organizationId, license.familyId)
        }
        yield* events.emit(caller, "LICENSE_DELETED", license)
      }),
    )
  })

  const currentOf = Effect.fnUntraced(function* (organizationId: string, familySlug: string) {
    const family = yield* repo.findFamily(organizationId, familySlug)
    if (Option.isNone(family)) return Option.none<License>()
    const [current] = yield* repo.currentVersions(organizationId, [family.value.id])
    return Option.fromNullishOr(current)
  })

  const resolve = Effect.fn("Licenses.resolve")(function* (organizationId: string, choice: LicenseChoice) {
    const found = [
      ...(choice.licenseId === undefined ? [] : [yield* repo.findById(organizationId, choice.licenseId)]),
      ...(choice.licenseSlug === undefined ? [] : [yield* repo.findBySlug(organizationId, choice.licenseSlug)]),
      ...(choice.licenseFamilySlug === undefined ? [] : [yield* currentOf(organizationId, choice.licenseFamilySlug)]),
    ]
    const first = found[0] ?? Option.none<License>()
    const agree = found.every((next) => Option.isSome(next) && Option.isSome(first) && next.value.id === first.value.id)
    return agree ? first : Option.none<License>()
  })

  return {
    create,
    get,
    list,
    update,
    delete: remove,
    resolve,
    lock: (organizationId: string, licenseId: string) => repo.lockByIdShared(organizationId, licenseId),
  }
})
