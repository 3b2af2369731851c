/**
 * Use cases of grants: which entitlements a license version grants, and with which value.
 *
 * Grants can be changed in any lifecycle state. Instances keep their version, so a changed grant applies to all of them
 * at once.
 */
import { Context, Effect, Layer, Option } from "effect"
import type { EntitlementType } from "../../entitlements/Model.ts"
import { EntitlementNotFound } from "../../entitlements/Errors.ts"
import { Entitlements } from "../../entitlements/Service.ts"
import { Events } from "../../events/Service.ts"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { changesIn, requireUnchanged } from "../../../kernel/contract/Rewritable.ts"
import { Cursors } from "../../../kernel/contract/Page.ts"
import type { Page, PageRequest } from "../../../kernel/contract/Page.ts"
import { invalid, noSuch } from "../../../kernel/contract/Problem.ts"
import type { InvalidCursor, ValidationFailed } from "../../../kernel/contract/Problem.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { Transactions } from "../../../kernel/database/Transactions.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { AssignLicenseEntitlementAlreadyAssigned, LicenseNotFound } from "../Errors.ts"
import { LicenseGrantsRepo } from "./Repo.ts"
import type { GrantRow } from "./Repo.ts"
import { isAddOn, UpdateGrant } from "../Model.ts"
import type { CreateGrant, Grant, License } from "../Model.ts"
import { LicensesRepo } from "../Repo.ts"
import { combineError, defaultCombine, overageError, statedError, valueError } from "../Rules.ts"

const notGranted = (entitlementSlug: string, licenseSlug: string) =>
  new EntitlementNotFound({
    detail: `The license "${licenseSlug}" does not grant the entitlement "${entitlementSlug}".`,
  })

const recordOf = ({ combine, entitlementSlug, overagePercent, value }: GrantRow): Grant => ({
  entitlementSlug,
  value,
  overagePercent,
  ...(combine === undefined ? {} : { combine }),
})

/** Fails if a license of this kind cannot grant so. */
const validateKind = Effect.fnUntraced(function* (
  license: Pick<License, "type">,
  type: EntitlementType,
  grant: Pick<Grant, "combine" | "overagePercent">,
) {
  const combine = combineError(license, type, grant.combine)
  if (combine !== undefined) return yield* invalid("body.combine", combine, grant.combine)
  const stated = statedError(license, grant.overagePercent)
  if (stated !== undefined) return yield* invalid("body.overagePercent", stated, grant.overagePercent)
})

/** Fails if a grant does not fit the type of its entitlement. */
const validate = Effect.fnUntraced(function* (type: EntitlementType, grant: Pick<Grant, "value" | "overagePercent">) {
  const value = valueError(type, grant.value)
  if (value !== undefined) return yield* invalid("body.value", value, grant.value)
  const overage = overageError(type, grant.overagePercent)
  if (overage !== undefined) return yield* invalid("body.overagePercent", overage, grant.overagePercent)
})

/** Manages the grants of license versions in the caller's organization. */
export class LicenseGrants extends Context.Service<
  LicenseGrants,
  {
    /** Grants an entitlement. The value must fit the type of the entitlement. */
    readonly create: (
      licenseSlug: string,
      input: CreateGrant,
    ) => Effect.Effect<Grant, ValidationFailed | LicenseNotFound | AssignLicenseEntitlementAlreadyAssigned, Caller>
    /** A page of what a license grants, in the display order of the entitlements. */
    readonly list: (
      licenseSlug: string,
      request: PageRequest,
    ) => Effect.Effect<Page<Grant>, InvalidCursor | LicenseNotFound, Caller>
    /** Changes the value or the overage of a grant. */
    readonly update: (
      licenseSlug: string,
      entitlementSlug: string,
      input: UpdateGrant,
    ) => Effect.Effect<void, ValidationFailed | EntitlementNotFound | LicenseNotFound, Caller>
    /** Removes an entitlement from a license. Its usage remains. */
    readonly delete: (
      licenseSlug: string,
      entitlementSlug: string,
    ) => Effect.Effect<void, EntitlementNotFound | LicenseNotFound, Caller>
    /** Fails if a value or an overage does not fit the type of an entitlement. */
    readonly validate: (
      type: EntitlementType,
      grant: Pick<Grant, "value" | "overagePercent">,
    ) => Effect.Effect<void, ValidationFailed>
  }
>()("keyshelf/licenses/LicenseGrants") {
  static readonly layer = Layer.suspend(() => Layer.effect(LicenseGrants, make))
}

/** The license of a grant. It cannot change before the transaction ends. */
const licenseLock = Effect.gen(function* () {
  const licenses = yield* LicensesRepo
  return Effect.fnUntraced(function* (organizationId: OrganizationId, slug: string) {
    const license = yield* licenses.lockBySlugShared(organizationId, slug)
    return Option.isSome(license) ? license.value : yield* new LicenseNotFound({ detail: noSuch("license", slug) })
  })
})

/** Grants an entitlement, with the event. */
const creation = Effect.gen(function* () {
  const repo = yield* LicenseGrantsRepo
  const entitlements = yield* Entitlements
  const events = yield* Events
  const transactions = yield* Transactions
  const lockLicense = yield* licenseLock

  return Effect.fn("LicenseGrants.create")(function* (licenseSlug: string, input: CreateGrant) {
    const caller = yield* Caller
    const { organizationId } = caller
    return yield* transactions.run(
      Effect.gen(function* () {
        const license = yield* lockLicense(organizationId, licenseSlug)
        const entitlement = yield* entitlements.lockShared(organizationId, input.entitlementSlug)
        if (Option.isNone(entitlement)) {
          return yield* invalid(
            "body.entitlementSlug",
            "must be the slug of an existing entitlement",
            input.entitlementSlug,
          )
        }
        const { type } = entitlement.value
        const grant: Grant = isAddOn(license)
          ? { overagePercent: null, combine: defaultCombine(type), ...input }
          : { overagePercent: 0, ...input }
        yield* validateKind(license, type, grant)
        yield* validate(type, grant)
        const row = { ...grant, licenseId: license.id, entitlementId: entitlement.value.id }
        if (!(yield* repo.insert(organizationId, row, { at: yield* now }))) {
          return yield* new AssignLicenseEntitlementAlreadyAssigned({
            detail: `The license "${licenseSlug}" already grants the entitlement "${input.entitlementSlug}". Change the grant with PUT.`,
          })
        }
        yield* events.emit(caller, "LICENSE_ENTITLEMENT_ASSIGNED", { licenseId: license.id, licenseSlug, ...grant })
        return grant
      }),
    )
  })
})

const make = Effect.gen(function* () {
  const repo = yield* LicenseGrantsRepo
  const licenses = yield* LicensesRepo
  const events = yield* Events
  const cursors = yield* Cursors
  const transactions = yield* Transactions
  const lockLicense = yield* licenseLock

  const lockGrant = Effect.fnUntraced(function* (
    organizationId: OrganizationId,
    licenseSlug: string,
    entitlementSlug: string,
  ) {
    const license = yield* lockLicense(organizationId, licenseSlug)
    const grant = yield* repo.lock(organizationId, license.id, entitlementSlug)
    return Option.isSome(grant)
      ? { license, grant: { ...grant.value, licenseId: license.id } }
      : yield* notGranted(entitlementSlug, licenseSlug)
  })

  const list = Effect.fn("LicenseGrants.list")(function* (licenseSlug: string, request: PageRequest) {
    const { organizationId } = yield* Caller
    const license = yield* licenses.findBySlug(organizationId, licenseSlug)
    if (Option.isNone(license)) return yield* new LicenseNotFound({ detail: noSuch("license", licenseSlug) })
    const page = yield* cursors.page(
      { name: "license-entitlements", organizationId, filters: { license: license.value.id } },
      request,
      (after, count) => repo.list(organizationId, license.value.id, after, count),
      (grant) => [grant.displayOrder, grant.entitlementId],
    )
    return { ...page, items: page.items.map(recordOf) }
  })

  const update = Effect.fn("LicenseGrants.update")(function* (
    licenseSlug: string,
    entitlementSlug: string,
    input: UpdateGrant,
  ) {
    const caller = yield* Caller
    yield* transactions.run(
      Effect.gen(function* () {
        const { grant: current, license } = yield* lockGrant(caller.organizationId, licenseSlug, entitlementSlug)
        yield* requireUnchanged(UpdateGrant, current, input)
        const updated = { ...current, ...changesIn(UpdateGrant, input) }
        yield* validateKind(license, current.entitlementType, updated)
        yield* validate(current.entitlementType, updated)
        yield* repo.update(caller.organizationId, updated, { at: yield* now })
        yield* events.emitChange(
          caller,
          "LICENSE_ENTITLEMENT_UPDATED",
          { licenseId: current.licenseId, licenseSlug, ...recordOf(current) },
          { licenseId: current.licenseId, licenseSlug, ...recordOf(updated) },
        )
      }),
    )
  })

  const remove = Effect.fn("LicenseGrants.delete")(function* (licenseSlug: string, entitlementSlug: string) {
    const caller = yield* Caller
    yield* transactions.run(
      Effect.gen(function* () {
        const { grant } = yield* lockGrant(caller.organizationId, licenseSlug, entitlementSlug)
        yield* repo.delete(caller.organizationId, grant.licenseId, grant.entitlementId, { at: yield* now })
        yield* events.emit(caller, "LICENSE_ENTITLEMENT_UNASSIGNED", {
          licenseId: grant.licenseId,
          licenseSlug,
          ...recordOf(grant),
        })
      }),
    )
  })

  return { create: yield* creation, list, update, delete: remove, validate }
})
