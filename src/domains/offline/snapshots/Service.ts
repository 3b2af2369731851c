/** Use cases of snapshots. */
import { Context, Effect, Exit, Layer } from "effect"
import { makeGroupCommit } from "../../../kernel/concurrency/GroupCommit.ts"
import { Caller } from "../../../kernel/contract/Caller.ts"
import type { ValidationFailed } from "../../../kernel/contract/Problem.ts"
import type { Tranche } from "../../../offline/Model.ts"
import { allows } from "../../../kernel/contract/Scope.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import type { InstanceNotFound } from "../../instances/Errors.ts"
import type { StoredKey } from "../../signing/Model.ts"
import { RULES_SCOPE, secondOf } from "../bundles/Rules.ts"
import { tokenSigning } from "../TokenSigning.ts"
import { contentReader } from "./Content.ts"
import { confirmedTag, makePollRate, maxAgeOf, snapshotTag } from "./Rules.ts"
import type { SnapshotClaims } from "./Rules.ts"

/** A snapshot, or the confirmation of the one that the caller holds. */
interface Snapshot {
  readonly etag: string
  /** The signed text; `undefined` if the one that the caller holds says the same. */
  readonly token: string | undefined
}

interface SnapshotRequest {
  readonly instanceSlug: string
  readonly withRules: boolean
  readonly ifNoneMatch: string | undefined
  readonly caller: Caller["Service"]
}

/** Signs what instances are granted now, for products that decide by themselves. */
export class Snapshots extends Context.Service<
  Snapshots,
  {
    /**
     * What an instance is granted at the instant of the request, signed. Without a token if the caller holds one that says the same
     * and is less than 300 seconds old. The first one of an organization creates its key.
     */
    readonly read: (
      instanceSlug: string,
      ifNoneMatch?: string,
    ) => Effect.Effect<Snapshot, InstanceNotFound | ValidationFailed, Caller>
    /** The same for the holder of a ledger, with what it may spend. It is not shared with other requests. */
    readonly withTranche: (
      instanceSlug: string,
      tranche: Tranche,
    ) => Effect.Effect<{ readonly etag: string; readonly token: string }, InstanceNotFound | ValidationFailed, Caller>
    /** Counts a request, and returns how many seconds its caller waits before the next one. */
    readonly nextPoll: Effect.Effect<number>
  }
>()("keyshelf/offline/snapshots/Snapshots") {
  static readonly layer = Layer.suspend(() => Layer.effect(Snapshots, make))
}

const make = Effect.gen(function* () {
  const readContent = yield* contentReader
  const sign = yield* tokenSigning
  const countPoll = makePollRate()
  const signSnapshot = (key: StoredKey, claims: SnapshotClaims & { readonly tranche?: Tranche }) =>
    sign(key, { claims, location: "path.instanceSlug", noun: "snapshot" })

  /** Answers requests of the same kind by one content and, if any of them needs it, one signature. */
  const answerAll = Effect.fnUntraced(function* (requests: ReadonlyArray<SnapshotRequest>) {
    const [{ instanceSlug, withRules }] = requests as [SnapshotRequest]
    const { at, claims, hash, key } = yield* readContent(instanceSlug, withRules)
    const tags = requests.map(({ ifNoneMatch }) => confirmedTag(ifNoneMatch, hash, secondOf(at)))
    const token = tags.includes(undefined) ? yield* signSnapshot(key, claims) : undefined
    return tags.map((etag): Snapshot =>
      etag === undefined ? { etag: snapshotTag(hash, claims.iat), token } : { etag, token: undefined },
    )
  })

  // A request that comes while a content is built may follow a change that it does not have: it waits for the next one.
  const grouped = makeGroupCommit(
    Effect.fnUntraced(function* (requests: ReadonlyArray<SnapshotRequest>) {
      const [{ caller }] = requests as [SnapshotRequest]
      const answers = yield* Effect.exit(Effect.provideService(answerAll(requests), Caller, caller))
      return requests.map((_, index) => Exit.map(answers, (all) => all[index] as Snapshot))
    }),
    { maxBatch: Infinity },
  )

  return Snapshots.of({
    read: Effect.fn("Snapshots.read")(function* (instanceSlug, ifNoneMatch) {
      const caller = yield* Caller
      const withRules = allows(caller.scopes, RULES_SCOPE)
      const request = { instanceSlug, withRules, ifNoneMatch, caller }
      return yield* grouped(`${caller.organizationId} ${withRules} ${instanceSlug}`, request)
    }),
    withTranche: Effect.fn("Snapshots.withTranche")(function* (instanceSlug, tranche) {
      const { scopes } = yield* Caller
      const { claims, hash, key } = yield* readContent(instanceSlug, allows(scopes, RULES_SCOPE))
      return { etag: snapshotTag(hash, claims.iat), token: yield* signSnapshot(key, { ...claims, tranche }) }
    }),
    nextPoll: Effect.map(now, (at) => maxAgeOf(countPoll(at))),
  })
})
