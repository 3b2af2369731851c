/** Use cases of offline bundles. */
import { Context, Effect, Layer, Option } from "effect"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { Cursors } from "../../../kernel/contract/Page.ts"
import type { Page, PageRequest } from "../../../kernel/contract/Page.ts"
import { noSuch } from "../../../kernel/contract/Problem.ts"
import type { InvalidCursor, ValidationFailed } from "../../../kernel/contract/Problem.ts"
import { Transactions } from "../../../kernel/database/Transactions.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { Events } from "../../events/Service.ts"
import { InstanceDeletions } from "../../instances/Deletions.ts"
import type { InstanceNotFound } from "../../instances/Errors.ts"
import { Instances } from "../../instances/Service.ts"
import { Allowances } from "../../usage/allowances/Service.ts"
import type { IssueOfflineBundleLicenseEnded, IssueOfflineBundleLimitReached } from "../Errors.ts"
import { OfflineBundleNotFound } from "../Errors.ts"
import { RevocationLists } from "../revocations/Service.ts"
import { issuance } from "./Issuance.ts"
import type { IssuedOfflineBundle, IssueOfflineBundle, OfflineBundle } from "./Model.ts"
import { recordOf, recordReader } from "./Records.ts"
import { BundlesRepo } from "./Repo.ts"
import type { BundleRow } from "./Repo.ts"

const notFound = (id: string) => new OfflineBundleNotFound({ detail: noSuch("offline bundle", id) })

/** Issues, reads and revokes the offline bundles of instances. */
export class OfflineBundles extends Context.Service<
  OfflineBundles,
  {
    /** Issues the next bundle of an instance, and signs it with the organization's key. */
    readonly issue: (
      instanceSlug: string,
      input: IssueOfflineBundle,
    ) => Effect.Effect<
      IssuedOfflineBundle,
      InstanceNotFound | IssueOfflineBundleLicenseEnded | IssueOfflineBundleLimitReached | ValidationFailed,
      Caller
    >
    /** A page of the bundles of an instance, newest first. */
    readonly list: (
      instanceSlug: string,
      request: PageRequest,
    ) => Effect.Effect<Page<OfflineBundle>, InstanceNotFound | InvalidCursor, Caller>
    /** A bundle with its signed text. */
    readonly get: (
      instanceSlug: string,
      id: string,
    ) => Effect.Effect<IssuedOfflineBundle, InstanceNotFound | OfflineBundleNotFound, Caller>
    /**
     * Voids a bundle and all before it. With `release`, its allowances end too. A revoked bundle can still be released; without
     * that, revoking it again has no effect.
     */
    readonly revoke: (
      instanceSlug: string,
      id: string,
      options?: { readonly release?: boolean },
    ) => Effect.Effect<void, InstanceNotFound | OfflineBundleNotFound, Caller>
  }
>()("keyshelf/offline/bundles/OfflineBundles") {
  static readonly layer = Layer.suspend(() => Layer.effect(OfflineBundles, make))
}

/** Voids a bundle and all before it, and emits the event. */
const revocation = Effect.gen(function* () {
  const repo = yield* BundlesRepo
  const lists = yield* RevocationLists
  const events = yield* Events
  const readRecord = yield* recordReader

  const emitRevoked = Effect.fnUntraced(function* (row: BundleRow, instance: string) {
    yield* events.emit(yield* Caller, "OFFLINE_BUNDLE_REVOKED", {
      ...(yield* readRecord(row, instance)),
      instanceId: row.instanceId,
    })
  })

  const revokeUpTo = Effect.fnUntraced(function* (row: BundleRow, instance: string) {
    const caller = yield* Caller
    const revokedAt = yield* now
    const until = yield* repo.lastExpiry(caller.organizationId, row)
    yield* repo.revokeUpTo(caller.organizationId, row, { at: revokedAt, by: caller.actor })
    yield* lists.add(caller.organizationId, { ...row, revokedAt, until })
    yield* emitRevoked({ ...row, revokedAt, revokedBy: caller.actor }, instance)
  })

  return { emitRevoked, revokeUpTo }
})

const make = Effect.gen(function* () {
  const repo = yield* BundlesRepo
  const instances = yield* Instances
  const allowances = yield* Allowances
  const cursors = yield* Cursors
  const transactions = yield* Transactions
  const readRecord = yield* recordReader
  const { emitRevoked, revokeUpTo } = yield* revocation

  yield* (yield* InstanceDeletions).register(
    Effect.fnUntraced(function* ({ id, slug }) {
      const { organizationId } = yield* Caller
      const newest = yield* repo.findNewest(organizationId, id)
      if (Option.isNone(newest) || newest.value.revokedAt !== null) return
      // One before may live longer, and a site may not have seen the newest.
      const until = yield* repo.lastExpiry(organizationId, newest.value)
      if (until > (yield* now)) yield* revokeUpTo(newest.value, slug)
    }),
  )

  const find = Effect.fnUntraced(function* (instanceId: string, id: string) {
    const found = yield* repo.find((yield* Caller).organizationId, instanceId, id)
    return Option.isSome(found) ? found.value : yield* notFound(id)
  })

  return OfflineBundles.of({
    issue: yield* issuance,
    list: Effect.fn("OfflineBundles.list")(function* (instanceSlug, request) {
      const { organizationId } = yield* Caller
      const { id } = yield* instances.get(instanceSlug)
      const page = yield* cursors.page(
        { name: `instances/${id}/offline-bundles`, organizationId },
        request,
        (after, count) => repo.list(organizationId, id, after, count),
        ({ sequence }) => [sequence],
      )
      const ids = page.items.map((row) => row.id)
      const byBundle = yield* allowances.ofBundles(organizationId, id, ids)
      return { ...page, items: page.items.map((row) => recordOf(row, instanceSlug, byBundle.get(row.id))) }
    }),
    get: Effect.fn("OfflineBundles.get")(function* (instanceSlug, id) {
      const instance = yield* instances.get(instanceSlug)
      const { bundle, ...row } = yield* find(instance.id, id)
      return { ...(yield* readRecord(row, instanceSlug)), bundle }
    }),
    revoke: Effect.fn("OfflineBundles.revoke")(function* (instanceSlug, id, { release = false } = {}) {
      yield* transactions.run(
        Effect.gen(function* () {
          const { organizationId } = yield* Caller
          const instance = yield* instances.lock(instanceSlug)
          const { bundle: _, ...row } = yield* find(instance.id, id)
          const released = release && (yield* allowances.endOf(organizationId, instance.id, id, yield* now))
          if (row.revokedAt === null) yield* revokeUpTo(row, instanceSlug)
          else if (released) yield* emitRevoked(row, instanceSlug)
        }),
      )
    }),
  })
})
