/** Counts the deliveries that a recovery would retry, in pieces like the recovery itself. */
import { Effect, Option } from "effect"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { MAX_COUNTED } from "../../../kernel/contract/dryruns/Impact.ts"
import { noSuch } from "../../../kernel/contract/Problem.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { EndpointsRepo } from "../endpoints/Repo.ts"
import { WebhookEndpointNotFound } from "../Errors.ts"
import type { EndpointKey, RecoverDeliveries } from "../Model.ts"
import { RecoveryRepo } from "./RecoveryRepo.ts"
import { FIRST, MAX_PIECE, rangeOf, requireTime } from "./RecoveryRules.ts"
import type { TimeRange } from "./RecoveryRules.ts"

// Limits the time of a request whose failures have nearly all been followed by a success.
const MAX_PIECES = 20

export const counting = Effect.gen(function* () {
  const repo = yield* RecoveryRepo
  const endpoints = yield* EndpointsRepo

  const countPiece = Effect.fnUntraced(function* (key: EndpointKey, range: TimeRange, after: typeof FIRST) {
    const { organizationId } = key
    const found = yield* repo.findCandidates(key, range, after, MAX_PIECE)
    const ids = [...new Set(found.map(({ deliveryId }) => deliveryId))]
    // In the order of a recovery: a delivery that leaves the queue in between is in the history.
    const waiting = yield* repo.findWaiting(organizationId, ids)
    const queued = new Set(yield* repo.findQueued(organizationId, ids))
    const missing = ids.filter((id) => !queued.has(id))
    const failed = yield* repo.findFailed(organizationId, missing, found[0]?.timestamp ?? range.since)
    return { count: waiting.filter((id) => queued.has(id)).length + failed.length, found }
  })

  return Effect.fn("WebhookRecovery.count")(function* (endpointId: string, input: RecoverDeliveries) {
    const { organizationId } = yield* Caller
    const range = rangeOf(input, yield* now)
    yield* requireTime(range, "query.since")
    if (Option.isNone(yield* endpoints.findById(organizationId, endpointId))) {
      return yield* new WebhookEndpointNotFound({ detail: noSuch("webhook endpoint", endpointId) })
    }
    let count = 0
    let after = FIRST
    for (let piece = 0; piece < MAX_PIECES && count <= MAX_COUNTED; piece++) {
      const counted = yield* countPiece({ organizationId, endpointId }, range, after)
      count += counted.count
      const last = counted.found.at(-1)
      if (last === undefined || counted.found.length < MAX_PIECE) {
        return { count: Math.min(count, MAX_COUNTED), truncated: count > MAX_COUNTED }
      }
      after = [last.timestamp.toISOString(), last.id]
    }
    return { count: Math.min(count, MAX_COUNTED), truncated: true }
  })
})
