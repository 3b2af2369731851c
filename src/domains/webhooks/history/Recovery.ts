/**
 * Recovers an endpoint after an outage: it retries the deliveries of a period that did not succeed. It works in
 * pieces, each in a transaction of its own. If the process ends in between, the pieces so far are queued; the same
 * request again queues the rest, and no delivery twice.
 */
import { Context, Effect, Layer, Option } from "effect"
import { Caller } from "../../../kernel/contract/Caller.ts"
import type { Position } from "../../../kernel/contract/Page.ts"
import { noSuch } from "../../../kernel/contract/Problem.ts"
import type { ValidationFailed } from "../../../kernel/contract/Problem.ts"
import { Transactions } from "../../../kernel/database/Transactions.ts"
import { Signals } from "../../../kernel/ports/Signals.ts"
import { DAY_MS, now } from "../../../kernel/values/Timestamp.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { RecoverDeliveriesEndpointNotActive, WebhookEndpointNotFound } from "../Errors.ts"
import type { EndpointKey, RecoverDeliveries } from "../Model.ts"
import { EndpointsRepo } from "../endpoints/Repo.ts"
import { QueueRepo } from "../queue/QueueRepo.ts"
import { RecoveryRepo } from "./RecoveryRepo.ts"
import { counting } from "./Recoverable.ts"
import { FIRST, MAX_PIECE, rangeOf, requireTime } from "./RecoveryRules.ts"
import type { TimeRange } from "./RecoveryRules.ts"

const MIN_STEP_MS = 5
const MAX_STEP_MS = 2000
const DEFAULT_STEP_MS = 100

/**
 * The time between two recovered deliveries. Deliveries of an endpoint are sent in the order in which they are due. If
 * all recovered ones were due now, new ones would wait for them. Half of what the endpoint can take (four at a time)
 * remains for new ones.
 */
const stepFor = (meanDurationMs: number | null): number =>
  meanDurationMs === null ? DEFAULT_STEP_MS : Math.min(MAX_STEP_MS, Math.max(MIN_STEP_MS, meanDurationMs / 2))

/** Retries the failed deliveries of the caller's webhook endpoints. */
export class WebhookRecovery extends Context.Service<
  WebhookRecovery,
  {
    /**
     * Queues the deliveries of a period that did not succeed, and advances those that wait for an attempt. Returns how
     * many.
     */
    readonly recover: (
      endpointId: string,
      input: RecoverDeliveries,
    ) => Effect.Effect<
      { readonly count: number },
      ValidationFailed | WebhookEndpointNotFound | RecoverDeliveriesEndpointNotActive,
      Caller
    >
    /** How many deliveries {@link recover} would retry. */
    readonly count: (
      endpointId: string,
      input: RecoverDeliveries,
    ) => Effect.Effect<
      { readonly count: number; readonly truncated: boolean },
      ValidationFailed | WebhookEndpointNotFound,
      Caller
    >
  }
>()("keyshelf/webhooks/history/WebhookRecovery") {
  static readonly layer = Layer.suspend(() => Layer.effect(WebhookRecovery, make))
}

/** How far the recovery of an endpoint is. */
interface Progress {
  /** The first attempt of the delivery before. */
  readonly after: Position
  /** When the next delivery is due: one step after the one before it, so that they stay in order. */
  readonly nextDueAt: number
  readonly step: number
}

/** Recovers the next deliveries of an endpoint within a transaction. Returns `undefined` if none is left. */
const pieceRecovery = Effect.gen(function* () {
  const repo = yield* RecoveryRepo
  const endpoints = yield* EndpointsRepo
  const queue = yield* QueueRepo
  const signals = yield* Signals

  const lockEndpoint = Effect.fnUntraced(function* (organizationId: OrganizationId, id: string) {
    const endpoint = yield* endpoints.lockForShare(organizationId, id)
    if (Option.isNone(endpoint)) return yield* new WebhookEndpointNotFound({ detail: noSuch("webhook endpoint", id) })
    if (endpoint.value.disabledAt === null) return
    return yield* new RecoverDeliveriesEndpointNotActive({ detail: "The endpoint is disabled. Enable it first." })
  })

  return Effect.fnUntraced(function* (endpoint: EndpointKey, range: TimeRange, { after, nextDueAt, step }: Progress) {
    const { endpointId, organizationId } = endpoint
    yield* lockEndpoint(organizationId, endpointId)
    const found = yield* repo.findCandidates(endpoint, range, after, MAX_PIECE)
    const last = found.at(-1)
    if (last === undefined) return undefined
    // An attempt whose lease expired is stored in addition to the one that followed it, with the same number.
    const candidates = [...new Map(found.map((candidate) => [candidate.deliveryId, candidate])).values()]
    const ids = candidates.map(({ deliveryId }) => deliveryId)
    const waiting = new Set(yield* repo.lockWaiting(organizationId, ids))
    const queued = new Set(yield* repo.findQueued(organizationId, ids))
    const missing = ids.filter((id) => !queued.has(id))
    const since = found[0]?.timestamp ?? range.since
    const failed = new Map((yield* repo.findFailed(organizationId, missing, since)).map((row) => [row.id, row]))
    const firstDueAt = Math.max(nextDueAt, (yield* now).getTime())
    const recovered = candidates
      .filter(({ deliveryId }) => waiting.has(deliveryId) || failed.has(deliveryId))
      .map(({ deliveryId }, index) => ({
        id: deliveryId,
        dueAt: new Date(firstDueAt + index * step),
      }))
    yield* repo.advance(
      organizationId,
      recovered.filter(({ id }) => waiting.has(id)),
    )
    yield* queue.insert(
      recovered
        .flatMap(({ dueAt, id }) => {
          const row = failed.get(id)
          return row === undefined ? [] : [{ ...row, organizationId, endpointId, attempt: row.attempt + 1, dueAt }]
        })
        .toSorted((left, right) => (left.id < right.id ? -1 : 1)),
    )
    const [first] = recovered
    if (first !== undefined) {
      yield* queue.lowerLaneHeads([{ organizationId, endpointId, dueAt: first.dueAt }])
      yield* signals.notify("webhooks")
    }
    return {
      recovered: recovered.length,
      nextDueAt: firstDueAt + recovered.length * step,
      last: [last.timestamp.toISOString(), last.id] as const,
      isLast: found.length < MAX_PIECE,
    }
  })
})

const make = Effect.gen(function* () {
  const repo = yield* RecoveryRepo
  const transactions = yield* Transactions
  const recoverPiece = yield* pieceRecovery

  const recover = Effect.fn("WebhookRecovery.recover")(function* (endpointId: string, input: RecoverDeliveries) {
    const { organizationId } = yield* Caller
    const at = yield* now
    const range = rangeOf(input, at)
    yield* requireTime(range, "body.since")
    const key = { organizationId, endpointId }
    const step = stepFor(yield* repo.meanDuration(key, new Date(at.getTime() - DAY_MS)))
    let count = 0
    let after = FIRST
    let nextDueAt = at.getTime()

    for (;;) {
      const piece = yield* transactions.run(recoverPiece(key, range, { after, nextDueAt, step }))
      if (piece === undefined) return { count }
      count += piece.recovered
      after = piece.last
      nextDueAt = piece.nextDueAt
      if (piece.isLast) return { count }
    }
  })

  return { recover, count: yield* counting }
})
