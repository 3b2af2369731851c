/** Keeps all event logs sealed and signed in the background. */
import { Array as Arr, Context, Effect, Exit, Layer, Option } from "effect"
import { Transactions } from "../../../kernel/database/Transactions.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { EventLog } from "../../events/log/EventLog.ts"
import type { EventStream } from "../../events/log/EventLog.ts"
import { Checkpoints } from "../Checkpoints.ts"
import type { EventCheckpointInconsistent } from "../Errors.ts"
import { AuditRepo } from "../Repo.ts"
import { Sealing } from "../Sealing.ts"
import type { SealedLog } from "../Sealing.ts"

/** The least time between two checkpoints of a log that are signed without a request. */
const CHECKPOINT_INTERVAL_MS = 300_000

/** How long a log that cannot be signed waits for the next try. */
const RETRY_MS = 60_000

/** The most batches of a log per step, so that a long log does not delay others. */
const MAX_BATCHES = 20

/** Seals and signs what grew. */
export class LogKeeper extends Context.Service<
  LogKeeper,
  {
    /**
     * Places and seals new events of all organizations, and signs the checkpoints that are due. Returns whether there may be more to
     * seal. A log that cannot be sealed or signed is a defect, after the work on all others.
     */
    readonly step: Effect.Effect<boolean>
  }
>()("keyshelf/audit/LogKeeper") {
  static readonly layer = Layer.suspend(() => Layer.effect(LogKeeper, make))
}

/** The logs that could not be sealed or signed, and until when they are left alone. */
const refusals = () => {
  const refused = new Map<OrganizationId, { readonly detail: string; readonly until: number }>()

  const isRefused = (organizationId: OrganizationId, at: number) => (refused.get(organizationId)?.until ?? 0) > at

  /** Works on a log. If it is refused, the error is logged once, and the log waits for the next try. */
  const unlessRefused = Effect.fnUntraced(function* <A>(
    organizationId: OrganizationId,
    work: Effect.Effect<A, EventCheckpointInconsistent>,
    otherwise: A,
  ) {
    const at = (yield* now).getTime()
    if (isRefused(organizationId, at)) return otherwise
    return yield* work.pipe(
      Effect.tap(() => Effect.sync(() => refused.delete(organizationId))),
      Effect.catch(({ detail }) =>
        Effect.gen(function* () {
          if (!refused.has(organizationId)) {
            yield* Effect.logError(detail).pipe(Effect.annotateLogs({ organizationId }))
          }
          refused.set(organizationId, { detail, until: at + RETRY_MS })
          return otherwise
        }),
      ),
    )
  })

  return { refused, isRefused, unlessRefused }
}

const make = Effect.gen(function* () {
  const log = yield* EventLog
  const sealing = yield* Sealing
  const checkpoints = yield* Checkpoints
  const repo = yield* AuditRepo
  const transactions = yield* Transactions

  const unplaced = transactions.run(Effect.andThen(repo.planByIndex, log.unplaced))

  // The heads up to which this process knows the logs to be sealed: streams that did not grow cost nothing.
  const sealedTo = new Map<OrganizationId, number>()
  // When the logs that grew since their newest checkpoint are signed, in milliseconds.
  const dueAt = new Map<OrganizationId, number>()
  const { isRefused, refused, unlessRefused } = refusals()

  const sealStream = Effect.fnUntraced(function* (organizationId: OrganizationId, first: SealedLog | undefined) {
    let sealed = first === undefined || first.hasMore ? yield* sealing.sealSome(organizationId) : first
    for (let batch = 1; sealed.hasMore && batch < MAX_BATCHES; batch++) {
      sealed = yield* sealing.sealSome(organizationId)
    }
    if (!sealed.hasMore) sealedTo.set(organizationId, sealed.head)
    if (!dueAt.has(organizationId)) {
      const newest = yield* checkpoints.newest(organizationId)
      const since = Option.match(newest, { onNone: () => 0, onSome: ({ signedAt }) => signedAt.getTime() })
      dueAt.set(organizationId, since + CHECKPOINT_INTERVAL_MS)
    }
    return sealed.hasMore
  })

  /** What can be sealed in few transactions. If one of them fails, each of its logs has its own, which says what is wrong. */
  const sealTogether = Effect.fnUntraced(function* (organizationIds: ReadonlyArray<OrganizationId>) {
    const at = (yield* now).getTime()
    const ids = organizationIds.filter((id) => !isRefused(id, at))
    const sealed = yield* Effect.forEach(Arr.chunksOf(ids, sealing.maxTogether), (some) =>
      Effect.exit(sealing.sealTogether(some)),
    )
    return new Map(sealed.flatMap((exit) => (Exit.isSuccess(exit) ? [...exit.value] : [])))
  })

  const sign = (organizationId: OrganizationId) =>
    Effect.map(checkpoints.sign(organizationId), () => void dueAt.delete(organizationId))

  /** Forgets removed organizations. */
  const forgetOthers = (streams: ReadonlyArray<EventStream>) => {
    const known = new Set(streams.map(({ organizationId }) => organizationId))
    for (const map of [sealedTo, dueAt, refused]) {
      for (const id of map.keys()) if (!known.has(id)) map.delete(id)
    }
  }

  const step = Effect.gen(function* () {
    const streams = yield* log.streams
    forgetOthers(streams)
    // Readers place events too.
    const placed = streams.filter(({ head, organizationId }) => sealedTo.get(organizationId) !== head)
    const grown = new Set([...(yield* unplaced), ...placed.map(({ organizationId }) => organizationId)])
    const together = yield* sealTogether([...grown])
    const sealed = yield* Effect.forEach(grown, (id) =>
      Effect.exit(unlessRefused(id, sealStream(id, together.get(id)), false)),
    )
    // A request that was refused has found a changed log. It is signed now, so that the health shows it.
    for (const id of yield* checkpoints.takeRefused) dueAt.set(id, 0)
    const at = (yield* now).getTime()
    const due = [...dueAt].filter(([, millis]) => millis <= at).map(([id]) => id)
    const signed = yield* Effect.forEach(due, (id) => Effect.exit(unlessRefused(id, sign(id), undefined)))
    yield* Effect.all([...sealed, ...signed], { discard: true })
    const [first] = refused.values()
    if (first !== undefined) return yield* Effect.die(new Error(first.detail))
    return sealed.some((exit) => Exit.isSuccess(exit) && exit.value)
  }).pipe(Effect.withSpan("LogKeeper.step"))

  return LogKeeper.of({ step })
})
