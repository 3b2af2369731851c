/**
 * Signs checkpoints of event logs. A checkpoint is signed only if the newest one before it verifies and follows from today's hashes.
 * So the service never signs a log that was rewritten. Each note is logged, because it counts outside the database.
 */
import { Context, Effect, Layer, Option } from "effect"
import { bySystem } from "../../kernel/contract/Caller.ts"
import type { Transaction } from "../../kernel/database/Transactions.ts"
import { Transactions } from "../../kernel/database/Transactions.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"
import { EventLog, sizeOf } from "../events/log/EventLog.ts"
import { Signer } from "../signing/Signer.ts"
import { logOrigin } from "../signing/VerifierKey.ts"
import { inconsistent } from "./Inconsistency.ts"
import type { EventCheckpointInconsistent } from "./Errors.ts"
import { AuditRepo } from "./Repo.ts"
import type { StoredCheckpoint } from "./Repo.ts"
import { checkpointOriginOf, checkpointText, openCheckpoint, signedNote } from "./rules/Notes.ts"
import { isSameHash, neededFor, rootOf } from "./rules/Tree.ts"
import { Sealing } from "./Sealing.ts"

const sourceOf = (organizationId: OrganizationId) => ({ ...bySystem, organizationId })

const whole = (size: number) => ({ from: 0, to: size })

/** Signs and reads checkpoints. */
export class Checkpoints extends Context.Service<
  Checkpoints,
  {
    /** Seals what is new, and returns the checkpoint of all sealed events, signed now if the tree has grown. */
    readonly current: (organizationId: OrganizationId) => Effect.Effect<StoredCheckpoint, EventCheckpointInconsistent>
    /** {@link current} of what is sealed already, in the background: if it creates the key, there is no event about it. */
    readonly sign: (organizationId: OrganizationId) => Effect.Effect<StoredCheckpoint, EventCheckpointInconsistent>
    /**
     * Verifies the newest checkpoint against today's hashes, and keeps the tree as it is until the transaction ends. Returns how many
     * events are sealed.
     */
    readonly confirm: (
      organizationId: OrganizationId,
    ) => Effect.Effect<number, EventCheckpointInconsistent, Transaction>
    /** Signs a text under a name of the log, in the background. */
    readonly signText: (
      organizationId: OrganizationId,
      name: string,
      text: string,
    ) => Effect.Effect<string, never, Transaction>
    /** Returns the organizations whose log was found to be changed since the last call, by requests too. */
    readonly takeRefused: Effect.Effect<ReadonlyArray<OrganizationId>>
    /** The newest checkpoint, not verified. None if the log has none. */
    readonly newest: (organizationId: OrganizationId) => Effect.Effect<Option.Option<StoredCheckpoint>>
  }
>()("keyshelf/audit/Checkpoints") {
  static readonly layer = Layer.suspend(() => Layer.effect(Checkpoints, make))
}

/** Names the log of an organization, as its checkpoints do. */
const originIn = (log: EventLog["Service"]) => (organizationId: OrganizationId) =>
  Effect.map(log.stream(organizationId), (stream) => checkpointOriginOf(logOrigin(organizationId), stream.log))

/** Returns what locks a tree and reads its size, its root and its newest checkpoint. It fails unless that checkpoint is right. */
const confirmation = (repo: AuditRepo["Service"], log: EventLog["Service"], signer: Signer["Service"]) => {
  const originOf = originIn(log)

  return Effect.fnUntraced(function* (organizationId: OrganizationId) {
    yield* repo.lock(organizationId)
    const size = sizeOf(yield* log.stream(organizationId))
    const newest = Option.getOrUndefined(yield* repo.newestCheckpoint(organizationId))
    const ranges = [whole(size), ...(newest === undefined ? [] : [whole(newest.size)])]
    const lookup = yield* repo.nodes(organizationId, neededFor(ranges))
    const root = rootOf(whole(size), lookup)
    if (root === undefined) return yield* inconsistent(organizationId, "Hashes of events are missing.")
    if (newest === undefined) return { newest, root, size }
    const keys = (yield* signer.known(organizationId, "audit")).map(({ x }) => x)
    const origin = yield* originOf(organizationId)
    const signed = openCheckpoint(newest.note, origin, keys, logOrigin(organizationId))
    if (signed === undefined) {
      return yield* inconsistent(organizationId, "The newest stored checkpoint is not one that the service signed.")
    }
    if (signed.size !== newest.size || signed.size > size) {
      return yield* inconsistent(organizationId, `The log had ${signed.size} events, and has ${size} now.`)
    }
    const before = rootOf(whole(signed.size), lookup)
    if (before === undefined || !isSameHash(before, signed.root)) {
      return yield* inconsistent(organizationId, `The first ${signed.size} hashes are not those that were signed.`)
    }
    return { newest, root, size }
  })
}

const make = Effect.gen(function* () {
  const repo = yield* AuditRepo
  const sealing = yield* Sealing
  const log = yield* EventLog
  const signer = yield* Signer
  const transactions = yield* Transactions

  const refused = new Set<OrganizationId>()
  const notingRefusal = <A, E, R>(organizationId: OrganizationId, work: Effect.Effect<A, E, R>) =>
    Effect.tapError(work, () => Effect.sync(() => refused.add(organizationId)))

  const originOf = originIn(log)
  const confirmed = confirmation(repo, log, signer)

  const signWith = Effect.fnUntraced(function* (organizationId: OrganizationId, name: string, text: string) {
    const key = yield* signer.current(sourceOf(organizationId), "audit")
    return signedNote(text, { name, x: key.x }, yield* signer.sign(key, Buffer.from(text)))
  })

  const signText = (organizationId: OrganizationId, name: string, text: string) =>
    Effect.andThen(signer.ensure(sourceOf(organizationId), "audit"), signWith(organizationId, name, text))

  const signNow = Effect.fnUntraced(function* (organizationId: OrganizationId, write: typeof signText) {
    const { newest, root, size } = yield* confirmed(organizationId)
    if (newest?.size === size) return { checkpoint: newest, isNew: false }
    const origin = yield* originOf(organizationId)
    const note = yield* write(organizationId, logOrigin(organizationId), checkpointText(origin, { root, size }))
    const checkpoint: StoredCheckpoint = { size, note, signedAt: yield* now }
    yield* repo.insertCheckpoint(organizationId, checkpoint)
    return { checkpoint, isNew: true }
  })

  const sign = Effect.fn("Checkpoints.sign")(function* (organizationId: OrganizationId, write: typeof signText) {
    const { checkpoint, isNew } = yield* transactions.run(signNow(organizationId, write))
    if (isNew) {
      yield* Effect.logInfo("Signed a checkpoint of an event log").pipe(
        Effect.annotateLogs({ organizationId, note: checkpoint.note }),
      )
    }
    return checkpoint
  })

  return Checkpoints.of({
    current: (organizationId) =>
      notingRefusal(organizationId, Effect.andThen(sealing.seal(organizationId), sign(organizationId, signWith))),
    sign: (organizationId) => sign(organizationId, signText),
    confirm: (organizationId) =>
      notingRefusal(
        organizationId,
        Effect.map(confirmed(organizationId), ({ size }) => size),
      ),
    takeRefused: Effect.sync(() => {
      const taken = [...refused]
      refused.clear()
      return taken
    }),
    signText,
    newest: repo.newestCheckpoint,
  })
})
