/** Use cases of overrides. */
import { Context, Effect, Layer, Option } from "effect"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { byId, Cursors } from "../../../kernel/contract/Page.ts"
import type { Page, PageRequest } from "../../../kernel/contract/Page.ts"
import type { InvalidCursor, ValidationFailed } from "../../../kernel/contract/Problem.ts"
import { Transactions } from "../../../kernel/database/Transactions.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import type { EntitlementNotFound } from "../../entitlements/Errors.ts"
import { Events } from "../../events/Service.ts"
import { instanceNotFound, OverrideNotFound } from "../Errors.ts"
import type { InstanceNotFound } from "../Errors.ts"
import type { Override, PutOverride } from "./Model.ts"
import { overrideLock, replacement } from "./Replacement.ts"
import type { AppliedOverride } from "./Replacement.ts"
import { OverridesRepo } from "./Repo.ts"

const notFound = (instance: string, entitlement: string) =>
  new OverrideNotFound({ detail: `The instance "${instance}" has no override of the entitlement "${entitlement}".` })

interface OverrideHistory {
  /** Whether ended overrides are listed too. */
  readonly history?: "true" | "false"
}

/** Manages overrides of instances in the caller's organization. */
export class Overrides extends Context.Service<
  Overrides,
  {
    /** Stores an override in place of the current one. An equal one changes nothing and emits no event. */
    readonly apply: (
      instanceSlug: string,
      entitlementSlug: string,
      body: PutOverride,
    ) => Effect.Effect<AppliedOverride, ValidationFailed | InstanceNotFound | EntitlementNotFound, Caller>
    /** Like {@link apply}, for callers that need the override alone. */
    readonly put: (
      instanceSlug: string,
      entitlementSlug: string,
      body: PutOverride,
    ) => Effect.Effect<Override, ValidationFailed | InstanceNotFound | EntitlementNotFound, Caller>
    /** The override that is in force or starts later. */
    readonly get: (
      instanceSlug: string,
      entitlementSlug: string,
    ) => Effect.Effect<Override, InstanceNotFound | OverrideNotFound, Caller>
    /** Ends the override of an entitlement that is in force or starts later. */
    readonly delete: (
      instanceSlug: string,
      entitlementSlug: string,
    ) => Effect.Effect<void, InstanceNotFound | EntitlementNotFound | OverrideNotFound, Caller>
    /** A page of the overrides of an instance, newest first, with `history` also those that ended. */
    readonly list: (
      instanceSlug: string,
      request: PageRequest & OverrideHistory,
    ) => Effect.Effect<Page<Override>, InstanceNotFound | InvalidCursor, Caller>
  }
>()("keyshelf/instances/overrides/Overrides") {
  static readonly layer = Layer.suspend(() => Layer.effect(Overrides, make))
}

const make = Effect.gen(function* () {
  const repo = yield* OverridesRepo
  const events = yield* Events
  const cursors = yield* Cursors
  const transactions = yield* Transactions
  const lock = yield* overrideLock
  const apply = yield* replacement

  const findInstance = Effect.fnUntraced(function* (organizationId: OrganizationId, slug: string) {
    const instance = yield* repo.findInstance(organizationId, slug)
    return Option.isSome(instance) ? instance.value : yield* instanceNotFound(slug)
  })

  const put = Effect.fn("Overrides.put")(function* (instanceSlug: string, entitlementSlug: string, body: PutOverride) {
    return (yield* apply(instanceSlug, entitlementSlug, body)).override
  })

  const get = Effect.fn("Overrides.get")(function* (instanceSlug: string, entitlementSlug: string) {
    const { organizationId } = yield* Caller
    const instance = yield* findInstance(organizationId, instanceSlug)
    const found = yield* repo.find(organizationId, instance.id, entitlementSlug, yield* now)
    return Option.isSome(found) ? found.value : yield* notFound(instanceSlug, entitlementSlug)
  })

  const remove = Effect.fn("Overrides.delete")(function* (instanceSlug: string, entitlementSlug: string) {
    const caller = yield* Caller
    const { actor, organizationId } = caller
    yield* transactions.run(
      Effect.gen(function* () {
        const { entitlement, instance } = yield* lock(organizationId, instanceSlug, entitlementSlug)
        const at = yield* now
        const found = yield* repo.find(organizationId, instance.id, entitlementSlug, at)
        if (Option.isNone(found)) return yield* notFound(instanceSlug, entitlementSlug)
        yield* repo.end(organizationId, { instanceId: instance.id, entitlementId: entitlement.id }, actor, at)
        yield* events.emit(caller, "INSTANCE_ENTITLEMENT_OVERRIDE_REMOVED", {
          ...found.value,
          instanceId: instance.id,
        })
      }),
    )
  })

  const list = Effect.fn("Overrides.list")(function* (
    instanceSlug: string,
    { history = "false", ...request }: PageRequest & OverrideHistory,
  ) {
    const { organizationId } = yield* Caller
    const instance = yield* findInstance(organizationId, instanceSlug)
    const at = yield* now
    return yield* cursors.page(
      { name: "overrides", organizationId, filters: { instance: instance.id, history } },
      request,
      (after, count) => repo.list(organizationId, instance.id, { at, history: history === "true" }, after, count),
      byId,
    )
  })

  return { apply, put, get, delete: remove, list }
})
