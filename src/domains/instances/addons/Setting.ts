/** Sets an add-on of an instance, from an instant on. */
import { Effect, Option } from "effect"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { requireUnchanged } from "../../../kernel/contract/Rewritable.ts"
import { failWithErrors, invalid, noSuch } from "../../../kernel/contract/Problem.ts"
import { Transactions } from "../../../kernel/database/Transactions.ts"
import { newId } from "../../../kernel/values/Identifiers.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { Events } from "../../events/Service.ts"
import { LicenseFamilyNotFound } from "../../licenses/Errors.ts"
import type { License } from "../../licenses/Model.ts"
import { Licenses } from "../../licenses/Service.ts"
import type { LicenseFamilyKind } from "../../licenses/Service.ts"
import { instanceNotFound, licenseArchived, PutAddOnLicenseArchived, PutAddOnLimitReached } from "../Errors.ts"
import { OverridesRepo } from "../overrides/Repo.ts"
import { PutAddOn } from "./Model.ts"
import type { AddOn } from "./Model.ts"
import { AddOnsRepo } from "./Repo.ts"
import { inForceAt, MAX_FAMILIES, MAX_WINDOWS, recordOf, replacementBy, startOf, windowErrors } from "./Rules.ts"
import type { AddOnWindow } from "./Rules.ts"

/** What became of a request to set an add-on. */
export interface AppliedAddOnChange {
  readonly status: "created" | "updated" | "unchanged"
  readonly addOn: AddOn
}

/** The version of a family that a request names, or else the one that is in force or on sale. It stays until the transaction ends. */
const versions = Effect.map(Licenses, (licenses) => {
  const named = Effect.fnUntraced(function* (organizationId: OrganizationId, family: LicenseFamilyKind, slug: string) {
    const found = yield* licenses.resolve(organizationId, { licenseSlug: slug })
    return Option.isSome(found) && found.value.familyId === family.id
      ? found.value.id
      : yield* invalid("body.licenseSlug", `must be the slug of a version of the family ${family.slug}`, slug)
  })

  return Effect.fnUntraced(function* (
    organizationId: OrganizationId,
    family: LicenseFamilyKind,
    { licenseSlug }: PutAddOn,
    windows: ReadonlyArray<AddOnWindow>,
    startsAt: Date,
  ): Effect.fn.Return<License, ReturnType<typeof invalid> | PutAddOnLicenseArchived> {
    const id =
      licenseSlug === undefined
        ? (inForceAt(windows, startsAt)?.licenseId ?? family.current?.id)
        : yield* named(organizationId, family, licenseSlug)
    const found = id === undefined ? Option.none() : yield* licenses.lock(organizationId, id)
    if (Option.isNone(found)) {
      return yield* invalid("path.familySlug", "must be the slug of a family with a published version", family.slug)
    }
    const license = found.value
    if (license.lifecycleState === "ARCHIVED" && !windows.some(({ licenseId }) => licenseId === license.id)) {
      return yield* new PutAddOnLicenseArchived(licenseArchived(license.slug))
    }
    return license
  })
})

/** Replaces what an instance has of a family from an instant on, with its event. */
export const setting = Effect.gen(function* () {
  const repo = yield* AddOnsRepo
  const licenses = yield* Licenses
  const events = yield* Events
  const transactions = yield* Transactions
  const { lockInstance } = yield* OverridesRepo
  const versionOf = yield* versions

  const familyOf = Effect.fnUntraced(function* (organizationId: OrganizationId, slug: string) {
    const found = yield* licenses.family(organizationId, slug)
    if (Option.isNone(found)) return yield* new LicenseFamilyNotFound({ detail: noSuch("license family", slug) })
    return found.value.isAddOn
      ? found.value
      : yield* invalid("path.familySlug", "must be the slug of a family of add-ons", slug)
  })

  const requireRoom = Effect.fnUntraced(function* (
    organizationId: OrganizationId,
    key: { readonly instanceId: string; readonly familyId: string },
    windows: number,
    at: Date,
  ) {
    const others = yield* repo.others(organizationId, key, at)
    if (others.families >= MAX_FAMILIES || others.windows + windows > MAX_WINDOWS) {
      return yield* new PutAddOnLimitReached({
        detail: `An instance can have add-ons of ${MAX_FAMILIES} families in force or planned, in ${MAX_WINDOWS} windows of time. Remove one first.`,
      })
    }
  })

  return Effect.fn("AddOns.apply")(function* (instanceSlug: string, familySlug: string, body: PutAddOn) {
    const caller = yield* Caller
    const { actor, organizationId } = caller
    return yield* transactions.run(
      Effect.gen(function* () {
        const instance = yield* lockInstance(organizationId, instanceSlug)
        if (Option.isNone(instance)) return yield* instanceNotFound(instanceSlug)
        const family = yield* familyOf(organizationId, familySlug)
        const key = { instanceId: instance.value.id, familyId: family.id }
        const at = yield* now
        const windows = yield* repo.live(organizationId, key, at)
        const current = windows[0]
        yield* requireUnchanged(PutAddOn, current ?? {}, body)
        const startsAt = startOf(body, windows, at)
        const license = yield* versionOf(organizationId, family, body, windows, startsAt)
        const { endsAt = null, quantity = 1, reason = null } = body
        const terms = { licenseId: license.id, quantity, startsAt, endsAt, reason }
        const { cut, previous, replaced, unchanged } = replacementBy(terms, windows)
        if (unchanged !== undefined) {
          return { status: "unchanged", addOn: recordOf(unchanged) } satisfies AppliedAddOnChange
        }
        yield* failWithErrors(windowErrors(terms, at))
        yield* requireRoom(organizationId, key, windows.length - replaced.length + 1, at)
        if (cut !== undefined) yield* repo.cut(organizationId, cut.id, startsAt)
        const ids = replaced.map(({ id }) => id)
        if (ids.length > 0) yield* repo.end(organizationId, ids, actor, at)
        const row = { id: yield* newId, ...terms, createdAt: at, createdBy: actor }
        yield* repo.insert(organizationId, { ...row, ...key })
        yield* repo.repeat(organizationId, [key.instanceId], at)
        const names = { instance: instance.value.slug, addOn: family.slug, license: license.slug }
        const stored = recordOf({ ...row, ...names, endedAt: null, endedBy: null })
        const { instanceId } = key
        const before = previous === undefined ? null : { ...recordOf(previous), instanceId }
        yield* events.emitChange(caller, "INSTANCE_ADD_ON_SET", before, { ...stored, instanceId })
        return { status: before === null ? "created" : "updated", addOn: stored } satisfies AppliedAddOnChange
      }),
    )
  })
})
