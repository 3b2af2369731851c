/** Use cases of add-ons. */
import { Context, Effect, Layer, Option } from "effect"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { byId, Cursors } from "../../../kernel/contract/Page.ts"
import type { Page, PageRequest } from "../../../kernel/contract/Page.ts"
import type { InvalidCursor, ValidationFailed } from "../../../kernel/contract/Problem.ts"
import { Transactions } from "../../../kernel/database/Transactions.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { Events } from "../../events/Service.ts"
import type { LicenseFamilyNotFound } from "../../licenses/Errors.ts"
import { Licenses } from "../../licenses/Service.ts"
import { AddOnNotFound, instanceNotFound } from "../Errors.ts"
import type { InstanceNotFound, PutAddOnLicenseArchived, PutAddOnLimitReached } from "../Errors.ts"
import { OverridesRepo } from "../overrides/Repo.ts"
import type { AddOn, PutAddOn } from "./Model.ts"
import { AddOnsRepo } from "./Repo.ts"
import { setting } from "./Setting.ts"
import type { AppliedAddOnChange } from "./Setting.ts"

const notFound = (instance: string, family: string) =>
  new AddOnNotFound({ detail: `The instance "${instance}" has no add-on "${family}".` })

interface AddOnHistory {
  /** Whether those that ended are listed too. */
  readonly history?: "true" | "false"
}

type PutAddOnProblem =
  | ValidationFailed
  | InstanceNotFound
  | LicenseFamilyNotFound
  | PutAddOnLicenseArchived
  | PutAddOnLimitReached

/** Manages add-ons of instances in the caller's organization. */
export class AddOns extends Context.Service<
  AddOns,
  {
    /**
     * Sets what an instance has of a family of add-ons from an instant on. What is in force before stays until then. A request that
     * changes nothing emits no event.
     */
    readonly apply: (
      instanceSlug: string,
      familySlug: string,
      body: PutAddOn,
    ) => Effect.Effect<AppliedAddOnChange, PutAddOnProblem, Caller>
    /** Like {@link apply}, for callers that need the add-on alone. */
    readonly put: (
      instanceSlug: string,
      familySlug: string,
      body: PutAddOn,
    ) => Effect.Effect<AddOn, PutAddOnProblem, Caller>
    /** The add-on that is in force, or the next one that is planned. */
    readonly get: (
      instanceSlug: string,
      familySlug: string,
    ) => Effect.Effect<AddOn, InstanceNotFound | AddOnNotFound, Caller>
    /** Ends the add-on now, and drops what is planned. */
    readonly delete: (
      instanceSlug: string,
      familySlug: string,
    ) => Effect.Effect<void, InstanceNotFound | AddOnNotFound, Caller>
    /** A page of the add-ons of an instance, newest first, with `history` also those that ended. */
    readonly list: (
      instanceSlug: string,
      request: PageRequest & AddOnHistory,
    ) => Effect.Effect<Page<AddOn>, InstanceNotFound | InvalidCursor, Caller>
  }
>()("keyshelf/instances/addons/AddOns") {
  static readonly layer = Layer.suspend(() => Layer.effect(AddOns, make))
}

/** Ends what an instance has of a family, with its event. */
const removal = Effect.gen(function* () {
  const repo = yield* AddOnsRepo
  const licenses = yield* Licenses
  const events = yield* Events
  const transactions = yield* Transactions
  const { lockInstance } = yield* OverridesRepo

  return Effect.fn("AddOns.delete")(function* (instanceSlug: string, familySlug: string) {
    const caller = yield* Caller
    const { actor, organizationId } = caller
    yield* transactions.run(
      Effect.gen(function* () {
        const instance = yield* lockInstance(organizationId, instanceSlug)
        if (Option.isNone(instance)) return yield* instanceNotFound(instanceSlug)
        const instanceId = instance.value.id
        const at = yield* now
        const found = yield* repo.find(organizationId, instanceId, familySlug, at)
        const family = yield* licenses.family(organizationId, familySlug)
        if (Option.isNone(found) || Option.isNone(family)) return yield* notFound(instanceSlug, familySlug)
        const live = yield* repo.live(organizationId, { instanceId, familyId: family.value.id }, at)
        const ids = live.map(({ id }) => id)
        yield* repo.end(organizationId, ids, actor, at)
        yield* repo.repeat(organizationId, [instanceId], at)
        yield* events.emit(caller, "INSTANCE_ADD_ON_REMOVED", { ...found.value, instanceId })
      }),
    )
  })
})

const make = Effect.gen(function* () {
  const repo = yield* AddOnsRepo
  const cursors = yield* Cursors
  const instances = yield* OverridesRepo
  const apply = yield* setting

  const findInstance = Effect.fnUntraced(function* (organizationId: OrganizationId, slug: string) {
    const instance = yield* instances.findInstance(organizationId, slug)
    return Option.isSome(instance) ? instance.value : yield* instanceNotFound(slug)
  })

  const put = Effect.fn("AddOns.put")(function* (instanceSlug: string, familySlug: string, body: PutAddOn) {
    return (yield* apply(instanceSlug, familySlug, body)).addOn
  })

  const get = Effect.fn("AddOns.get")(function* (instanceSlug: string, familySlug: string) {
    const { organizationId } = yield* Caller
    const instance = yield* findInstance(organizationId, instanceSlug)
    const found = yield* repo.find(organizationId, instance.id, familySlug, yield* now)
    return Option.isSome(found) ? found.value : yield* notFound(instanceSlug, familySlug)
  })

  const list = Effect.fn("AddOns.list")(function* (
    instanceSlug: string,
    { history = "false", ...request }: PageRequest & AddOnHistory,
  ) {
    const { organizationId } = yield* Caller
    const instance = yield* findInstance(organizationId, instanceSlug)
    const at = yield* now
    return yield* cursors.page(
      { name: "add-ons", organizationId, filters: { instance: instance.id, history } },
      request,
      (after, count) => repo.list(organizationId, instance.id, { at, history: history === "true" }, after, count),
      byId,
    )
  })

  return { apply, put, get, delete: yield* removal, list }
})
