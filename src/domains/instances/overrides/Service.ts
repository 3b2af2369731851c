/** Use cases of overrides. */
import { Context, Effect, Layer, Option } from "effect"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { byId, Cursors } from "../../../kernel/contract/Page.ts"
import type { PageRequest } from "../../../kernel/contract/Page.ts"
import { requireUnchanged } from "../../../kernel/contract/Rewritable.ts"
import { failWithErrors, noSuch } from "../../../kernel/contract/Problem.ts"
import { Transactions } from "../../../kernel/database/Transactions.ts"
import { newId } from "../../../kernel/values/Identifiers.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { EntitlementNotFound } from "../../entitlements/Errors.ts"
import { Entitlements } from "../../entitlements/Service.ts"
import { Events } from "../../events/Service.ts"
import { LicenseGrants } from "../../licenses/grants/Service.ts"
import { InstanceNotFound, OverrideNotFound } from "../Errors.ts"
import { PutOverride } from "./Model.ts"
import type { Override } from "./Model.ts"
import { OverridesRepo } from "./Repo.ts"
import { isSame, overrideErrors, replacingTerms, sentTerms } from "./Rules.ts"
import type { ValidationFailed, InvalidCursor } from "../../../kernel/contract/Problem.ts"
import type { Page } from "../../../kernel/contract/Page.ts"

const notFound = (instance: string, entitlement: string) =>
  new OverrideNotFound({ detail: `The instance "${instance}" has no override of the entitlement "${entitlement}".` })

/** Manages overrides of instances in the caller's organization. */
export class Overrides extends Context.Service<
  Overrides,
  {
    /** Stores an override, and says whether it is the first, another one, or the same again. */
    readonly apply: (
      instanceSlug: string,
      entitlementSlug: string,
      sent: PutOverride,
    ) => Effect.Effect<
      | {
          readonly status: "unchanged"
          readonly override: Override
        }
      | {
          readonly status: "created" | "updated"
          readonly override: Override
        },
      ValidationFailed | InstanceNotFound | EntitlementNotFound,
      Caller
    >
    /** ??? */
    readonly put: (
      instanceSlug: string,
      entitlementSlug: string,
      sent: PutOverride,
    ) => Effect.Effect<Override, ValidationFailed | InstanceNotFound | EntitlementNotFound, Caller>
    /** ??? */
    readonly get: (
      instanceSlug: string,
      entitlementSlug: string,
    ) => Effect.Effect<Override, InstanceNotFound | OverrideNotFound, Caller>
    /** ??? */
    readonly delete: (
      instanceSlug: string,
      entitlementSlug: string,
    ) => Effect.Effect<void, InstanceNotFound | EntitlementNotFound | OverrideNotFound, Caller>
    /** ??? */
    readonly list: (
      instanceSlug: string,
      input: PageRequest & {
        readonly history?: "true" | "false"
      },
    ) => Effect.Effect<Page<Override>, InstanceNotFound | InvalidCursor, Caller>
  }
>()("keyshelf/instances/overrides/Overrides") {
  static readonly layer = Layer.effect(
    Overrides,
    Effect.suspend(() => make),
  )
}

const make = Effect.gen(function* () {
  const repo = yield* OverridesRepo
  const entitlements = yield* Entitlements
  const grants = yield* LicenseGrants
  const events = yield* Events
  const cursors = yield* Cursors
  const transactions = yield* Transactions

  const required = <Row>(found: Option.Option<Row>, slug: string) =>
    Option.isSome(found) ? Effect.succeed(found.value) : new InstanceNotFound({ detail: noSuch("instance", slug) })

  /** The instance and the entitlement. Neither can be deleted before the transaction ends. */
  const keep = Effect.fnUntraced(function* (organizationId: string, instanceSlug: string, entitlementSlug: string) {
    const instance = yield* required(yield* repo.lockInstance(organizationId, instanceSlug), instanceSlug)
    const entitlement = yield* entitlements.lockShared(organizationId, entitlementSlug)
    if (Option.isNone(entitlement)) {
      return yield* new EntitlementNotFound({ detail: noSuch("entitlement", entitlementSlug) })
    }
    return { instance, entitlement: entitlement.value }
  })

  const apply = Effect.fn("Overrides.apply")(function* (
    instanceSlug: string,
    entitlementSlug: string,
    sent: PutOverride,
  ) {
    const { actor, organizationId } = yield* Caller
    return yield* transactions.run(
      Effect.gen(function* () {
        const { entitlement, instance } = yield* keep(organizationId, instanceSlug, entitlementSlug)
        const at = yield* now
        const found = yield* repo.find(organizationId, instance.id, entitlementSlug, at)
        const current = Option.getOrNull(found)
        yield* requireUnchanged(PutOverride, current ?? {}, sent)
        const asked = sentTerms(sent, current, at)
        if (current !== null && isSame(current, asked)) return { status: "unchanged" as const, override: current }
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
        yield* events.emitChange({ organizationId, actor }, "INSTANCE_ENTITLEMENT_OVERRIDDEN", current, stored)
        return { status: current === null ? ("created" as const) : ("updated" as const), override: stored }
      }),
    )
  })

  const put = Effect.fn("Overrides.put")(function* (instanceSlug: string, entitlementSlug: string, sent: PutOverride) {
    return (yield* apply(instanceSlug, entitlementSlug, sent)).override
  })

  const get = Effect.fn("Overrides.get")(function* (instanceSlug: string, entitlementSlug: string) {
    const { organizationId } = yield* Caller
    const instance = yield* required(yield* repo.findInstance(organizationId, instanceSlug), instanceSlug)
    const found = yield* repo.find(organizationId, instance.id, entitlementSlug, yield* now)
    return Option.isSome(found) ? found.value : yield* notFound(instanceSlug, entitlementSlug)
  })

  const remove = Effect.fn("Overrides.delete")(function* (instanceSlug: string, entitlementSlug: string) {
    const { actor, organizationId } = yield* Caller
    yield* transactions.run(
      Effect.gen(function* () {
        const { entitlement, instance } = yield* keep(organizationId, instanceSlug, entitlementSlug)
        const at = yield* now
        const found = yield* repo.find(organizationId, instance.id, entitlementSlug, at)
        if (Option.isNone(found)) return yield* notFound(instanceSlug, entitlementSlug)
        yield* repo.end(organizationId, { instanceId: instance.id, entitlementId: entitlement.id }, actor, at)
        yield* events.emit({ organizationId, actor }, "INSTANCE_ENTITLEMENT_OVERRIDE_REMOVED", found.value)
      }),
    )
  })

  const list = Effect.fn("Overrides.list")(function* (
    instanceSlug: string,
    { history = "false", ...request }: PageRequest & { readonly history?: "true" | "false" },
  ) {
    const { organizationId } = yield* Caller
    const instance = yield* required(yield* repo.findInstance(organizationId, instanceSlug), instanceSlug)
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
