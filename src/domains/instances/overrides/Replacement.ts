/** Stores an override in place of the current one. */
import { Effect, Option } from "effect"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { requireUnchanged } from "../../../kernel/contract/Rewritable.ts"
import { failWithErrors, noSuch } from "../../../kernel/contract/Problem.ts"
import { Transactions } from "../../../kernel/database/Transactions.ts"
import { newId } from "../../../kernel/values/Identifiers.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { EntitlementNotFound } from "../../entitlements/Errors.ts"
import { Entitlements } from "../../entitlements/Service.ts"
import { Events } from "../../events/Service.ts"
import { LicenseGrants } from "../../licenses/grants/Service.ts"
import { instanceNotFound } from "../Errors.ts"
import { PutOverride } from "./Model.ts"
import type { Override } from "./Model.ts"
import { OverridesRepo } from "./Repo.ts"
import { isSame, overrideErrors, replacingTerms, sentTerms } from "./Rules.ts"

/** A stored override, and whether it is new, changed or unchanged. */
export interface AppliedOverride {
  readonly status: "created" | "updated" | "unchanged"
  readonly override: Override
}

/** The instance and the entitlement of an override. Neither can be deleted before the transaction ends. */
export const overrideLock = Effect.gen(function* () {
  const repo = yield* OverridesRepo
  const entitlements = yield* Entitlements
  return Effect.fnUntraced(function* (organizationId: OrganizationId, instanceSlug: string, entitlementSlug: string) {
    const instance = yield* repo.lockInstance(organizationId, instanceSlug)
    if (Option.isNone(instance)) return yield* instanceNotFound(instanceSlug)
    const entitlement = yield* entitlements.lockShared(organizationId, entitlementSlug)
    if (Option.isNone(entitlement)) {
      return yield* new EntitlementNotFound({ detail: noSuch("entitlement", entitlementSlug) })
    }
    return { instance: instance.value, entitlement: entitlement.value }
  })
})

/** Replaces an override by a body, with its event. */
export const replacement = Effect.gen(function* () {
  const repo = yield* OverridesRepo
  const grants = yield* LicenseGrants
  const events = yield* Events
  const transactions = yield* Transactions
  const lock = yield* overrideLock

  return Effect.fn("Overrides.apply")(function* (instanceSlug: string, entitlementSlug: string, body: PutOverride) {
    const caller = yield* Caller
    const { actor, organizationId } = caller
    return yield* transactions.run(
      Effect.gen(function* () {
        const { entitlement, instance } = yield* lock(organizationId, instanceSlug, entitlementSlug)
        const at = yield* now
        const found = yield* repo.find(organizationId, instance.id, entitlementSlug, at)
        const current = Option.getOrNull(found)
        yield* requireUnchanged(PutOverride, current ?? {}, body)
        const asked = sentTerms(body, current, at)
        if (current !== null && isSame(current, asked)) {
          return { status: "unchanged", override: current } satisfies AppliedOverride
        }
        const terms = replacingTerms(asked, current, at)
        yield* failWithErrors(overrideErrors(entitlement.type, terms, at))
        yield* grants.validate(entitlement.type, { ...terms, overagePercent: terms.overagePercent ?? 0 })
        const ids = { instanceId: instance.id, entitlementId: entitlement.id }
        const override = {
          id: yield* newId,
          instance: instance.slug,
          entitlement: entitlement.slug,
          ...terms,
          createdAt: at,
          createdBy: actor,
        }
        yield* repo.end(organizationId, ids, actor, at)
        yield* repo.insert(organizationId, { ...override, ...ids })
        const stored: Override = { ...override, endedAt: null, endedBy: null }
        const { instanceId } = ids
        const before = current === null ? null : { ...current, instanceId }
        yield* events.emitChange(caller, "INSTANCE_ENTITLEMENT_OVERRIDDEN", before, { ...stored, instanceId })
        return { status: current === null ? "created" : "updated", override: stored } satisfies AppliedOverride
      }),
    )
  })
})
