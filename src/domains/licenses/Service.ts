/** Use cases of licenses: the versions of families. */
import { Context, Effect, Layer, Option } from "effect"
import { Events } from "../events/Service.ts"
import { Caller } from "../../kernel/contract/Caller.ts"
import { requireUnchanged } from "../../kernel/contract/Rewritable.ts"
import { byId, Cursors, filtersOf } from "../../kernel/contract/Page.ts"
import type { Page, PageRequest } from "../../kernel/contract/Page.ts"
import { invalid, noSuch } from "../../kernel/contract/Problem.ts"
import type { InvalidCursor, ValidationFailed } from "../../kernel/contract/Problem.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import { Transactions } from "../../kernel/database/Transactions.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"
import { DeletionBlockers } from "../../kernel/ports/DeletionBlockers.ts"
import {
  DeleteLicenseInUse,
  DeleteLicenseNotADraft,
  LicenseNotFound,
  UpdateLicenseDefaultMustBePublished,
} from "./Errors.ts"
import type { CreateLicenseDefaultMustBePublished, CreateLicenseSlugTaken } from "./Errors.ts"
import { isAddOn, lastEndBefore, UpdateLicense } from "./Model.ts"
import type { CreateLicense, License, LicenseFilters } from "./Model.ts"
import { LicensedInstances } from "./LicensedInstances.ts"
import { LicensesRepo } from "./Repo.ts"
import { graceError, kindError, PASSES_LAST_YEAR } from "./Rules.ts"
import { creation } from "./versions/Creation.ts"
import { defaultClearing, onlyPublished } from "./versions/DefaultVersion.ts"

/** Identifies a license by id, by slug, or by the family that resolves to it. */
export interface LicenseChoice {
  readonly licenseId?: string
  readonly licenseSlug?: string
  readonly licenseFamilySlug?: string
}

/** A family: whether its versions are add-ons, and the one that it resolves to. */
export interface LicenseFamilyKind {
  readonly id: string
  readonly slug: string
  readonly isAddOn: boolean
  readonly current: License | undefined
}

const notFound = (slug: string) => new LicenseNotFound({ detail: noSuch("license", slug) })

/** Manages license versions of the caller's organization. */
export class Licenses extends Context.Service<
  Licenses,
  {
    /**
     * Creates a version of the family that the body names, or the first version of a new family. A new default replaces
     * the previous one.
     */
    readonly create: (
      input: CreateLicense,
    ) => Effect.Effect<License, ValidationFailed | CreateLicenseDefaultMustBePublished | CreateLicenseSlugTaken, Caller>
    /** The version with a slug. */
    readonly get: (slug: string) => Effect.Effect<License, LicenseNotFound, Caller>
    /** A page of versions of all families, newest first. */
    readonly list: (request: PageRequest & LicenseFilters) => Effect.Effect<Page<License>, InvalidCursor, Caller>
    /** Changes a version. A new default replaces the previous one of its family. */
    readonly update: (
      slug: string,
      input: UpdateLicense,
    ) => Effect.Effect<void, ValidationFailed | LicenseNotFound | UpdateLicenseDefaultMustBePublished, Caller>
    /** Deletes a draft that no instance uses. With its last version a family ends too, and its slug is free. */
    readonly delete: (
      slug: string,
    ) => Effect.Effect<void, LicenseNotFound | DeleteLicenseNotADraft | DeleteLicenseInUse, Caller>
    /** The family with a slug, and what it sells. */
    readonly family: (organizationId: OrganizationId, slug: string) => Effect.Effect<Option.Option<LicenseFamilyKind>>
    /** Resolves a choice to a version. None if it names none, or if its properties name different versions. */
    readonly resolve: (organizationId: OrganizationId, choice: LicenseChoice) => Effect.Effect<Option.Option<License>>
    /** Reads a version and locks it: it can neither change nor be archived before the transaction ends. */
    readonly lock: (organizationId: OrganizationId, licenseId: string) => Effect.Effect<Option.Option<License>>
  }
>()("keyshelf/licenses/Licenses") {
  static readonly layer = Layer.suspend(() => Layer.effect(Licenses, make))
}

/** Fails if a version becomes an add-on or a license, or is an add-on with days of grace. */
const requireKind = Effect.fnUntraced(function* (current: License, updated: License) {
  const kind = kindError(current, updated)
  if (kind !== undefined) return yield* invalid("body.type", kind, updated.type)
  const grace = graceError(updated)
  if (grace !== undefined) return yield* invalid("body.graceDays", grace, updated.graceDays)
})

/** Changes a version. */
const change = Effect.gen(function* () {
  const repo = yield* LicensesRepo
  const instances = yield* LicensedInstances
  const events = yield* Events
  const transactions = yield* Transactions
  const clearDefault = yield* defaultClearing

  /** Rejects days of grace that pass the year 9999 for an instance of a locked license. */
  const requireWritableGrace = Effect.fnUntraced(function* (
    organizationId: OrganizationId,
    { graceDays, id }: License,
  ) {
    if (yield* instances.hasLateEnd(organizationId, { licenseId: id, after: lastEndBefore(graceDays) })) {
      yield* invalid("body.graceDays", PASSES_LAST_YEAR, graceDays)
    }
  })

  return Effect.fn("Licenses.update")(function* (slug: string, input: UpdateLicense) {
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
          away: { ...current.away, ...input.away },
          updatedAt: yield* now,
          updatedBy: caller.actor,
        }
        yield* requireKind(current, updated)
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
})

/** Deletes a version and, with its last version, a family. */
const deletion = Effect.gen(function* () {
  const repo = yield* LicensesRepo
  const events = yield* Events
  const transactions = yield* Transactions
  const blockers = yield* DeletionBlockers

  return Effect.fn("Licenses.delete")(function* (slug: string) {
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
        if ((yield* blockers.find("license", license)).length > 0) {
          return yield* new DeleteLicenseInUse({
            detail: `An instance uses the license "${slug}". Assign another license to it, or remove the add-on, first.`,
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
})

const make = Effect.gen(function* () {
  const repo = yield* LicensesRepo
  const cursors = yield* Cursors

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

  const family = Effect.fnUntraced(function* (organizationId: OrganizationId, slug: string) {
    const found = yield* repo.findFamily(organizationId, slug)
    if (Option.isNone(found)) return Option.none<LicenseFamilyKind>()
    const { id } = found.value
    const [current] = yield* repo.currentVersions(organizationId, [id])
    const [newest] = current === undefined ? yield* repo.listVersions(organizationId, id, 1) : [current]
    return Option.some<LicenseFamilyKind>({ id, slug, isAddOn: newest !== undefined && isAddOn(newest), current })
  })

  const currentOf = (organizationId: OrganizationId, slug: string) =>
    Effect.map(
      family(organizationId, slug),
      Option.flatMap(({ current }) => Option.fromNullishOr(current)),
    )

  const resolve = Effect.fn("Licenses.resolve")(function* (organizationId: OrganizationId, choice: LicenseChoice) {
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
    create: yield* creation,
    get,
    list,
    update: yield* change,
    delete: yield* deletion,
    family,
    resolve,
    lock: repo.lockByIdShared,
  }
})
