/** Finds the checks whose result a changed grant or instance would change. */
import { Context, Effect, Layer, Predicate } from "effect"
import { affectedOf, namedTo } from "../../kernel/contract/dryruns/Impact.ts"
import type { ChangingImpact } from "../../kernel/contract/dryruns/ImpactModels.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import { LicenseImpact, changingBetween } from "../usage/impact/Service.ts"
import type { DecidedChecks } from "../usage/impact/Service.ts"
import type { Impact } from "./Model.ts"
import { readPages } from "./Pages.ts"
import { ImpactRepo } from "./Repo.ts"

/** The time limit for reading the state after the change, and again for the state before it. */
const MAX_MS = 1_000

interface CheckedPage {
  readonly ids: ReadonlyArray<string>
  readonly after: DecidedChecks
}

/** Finds the checks whose result would change. */
export class ChangingImpacts extends Context.Service<
  ChangingImpacts,
  {
    /** The checks of one entitlement whose result a change of a grant changes. */
    readonly grant: Impact
    /** The checks of an instance whose result a change of the instance changes. */
    readonly instance: Impact
    /** The checks of an instance whose result a change of its add-ons changes. */
    readonly addOn: Impact
    /** The checks of an entitlement of an instance whose result a credit changes. */
    readonly credit: Impact
  }
>()("keyshelf/impact/ChangingImpacts") {
  static readonly layer = Layer.suspend(() => Layer.effect(ChangingImpacts, make))
}

const make = Effect.gen(function* () {
  const repo = yield* ImpactRepo
  const licenseImpact = yield* LicenseImpact

  const grant: Impact = Effect.fnUntraced(function* ({ caller, events, params }) {
    const { organizationId } = caller
    const at = yield* now
    const { entitlementSlug = events.map(({ data }) => data["entitlementSlug"]).find(Predicate.isString) ?? "" } =
      params
    const checks = (ids: ReadonlyArray<string>) =>
      licenseImpact.checks(organizationId, ids, { entitlement: entitlementSlug }, at)
    const { found, isComplete } = yield* readPages(
      (last: string | undefined, count) =>
        repo.instanceIdsOn(organizationId, { licenseSlug: params["licenseSlug"] ?? "", at }, last ?? null, count),
      (ids) => Effect.map(checks(ids), (after): ReadonlyArray<CheckedPage> => [{ ids, after }]),
      MAX_MS,
    )
    return Effect.gen(function* () {
      const turning = yield* Effect.forEach(found, ({ after, ids }) =>
        Effect.map(checks(ids), (before) => changingBetween(before, after)),
      )
      const impact: ChangingImpact = { turning: namedTo(caller, affectedOf(turning.flat(), isComplete)) }
      return impact
    })
  })

  const instance: Impact = Effect.fnUntraced(function* ({ caller, events }) {
    const at = yield* now
    const [changed] = events
    const ids = [changed?.data["id"]].filter(Predicate.isString)
    const licenseIds = [changed?.data["licenseId"], changed?.previous?.["licenseId"]].filter(Predicate.isString)
    const checks = licenseImpact.checks(caller.organizationId, ids, { licenseIds }, at)
    const after = yield* checks
    return Effect.map(checks, (before) => {
      const impact: ChangingImpact = { turning: namedTo(caller, affectedOf(changingBetween(before, after))) }
      return impact
    })
  })

  const addOn: Impact = Effect.fnUntraced(function* ({ caller, params }) {
    const at = yield* now
    const { familySlug = "", instanceSlug = "" } = params
    const { organizationId } = caller
    const ids = yield* repo.instanceIdsNamed(organizationId, instanceSlug)
    const licenseIds = yield* repo.versionsOf(organizationId, familySlug)
    const checks = licenseImpact.checks(organizationId, ids, { licenseIds }, at)
    const after = yield* checks
    return Effect.map(checks, (before) => {
      const impact: ChangingImpact = { turning: namedTo(caller, affectedOf(changingBetween(before, after))) }
      return impact
    })
  })

  // A request that adds no credit emits no event, and changes nothing.
  const credit: Impact = Effect.fnUntraced(function* ({ caller, events }) {
    const at = yield* now
    const [instanceId, entitlement] = [events[0]?.data["instanceId"], events[0]?.data["entitlement"]]
    const ids = [instanceId].filter(Predicate.isString)
    const which = { entitlement: Predicate.isString(entitlement) ? entitlement : "" }
    const checks = licenseImpact.checks(caller.organizationId, ids, which, at)
    const after = yield* checks
    return Effect.map(checks, (before) => {
      const impact: ChangingImpact = { turning: namedTo(caller, affectedOf(changingBetween(before, after))) }
      return impact
    })
  })

  return { grant, instance, addOn, credit }
})
