/** Claims due deliveries and makes their attempts. Any number of nodes may do so at once. */
import { Clock, Context, Duration, Effect, Layer, Option } from "effect"
import type { Redacted } from "effect"
import type { EventRecord } from "../../../kernel/contract/Event.ts"
import { newId } from "../../../kernel/values/Identifiers.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { Transactions } from "../../../kernel/database/Transactions.ts"
import { Attempts } from "./AttemptRecorder.ts"
import { AttemptsRepo } from "./AttemptsRepo.ts"
import type { Subject } from "./AttemptsRepo.ts"
import { DeliveryLimits, LEASE_MARGIN } from "../DeliveryLimits.ts"
import { envelopeText } from "../Payload.ts"
import * as metrics from "../Metrics.ts"
import { Nodes } from "../maintenance/ClaimRescuer.ts"
import { PendingDeliveries } from "../queue/BacklogRemover.ts"
import { QueueRepo } from "../queue/QueueRepo.ts"
import type { ClaimedRow, LockedLane } from "../queue/QueueRepo.ts"
import { WebhookSecrets } from "../endpoints/SigningSecrets.ts"
import { signedHeaders, WebhookSender } from "./Sender.ts"
import type { AttemptOutcome } from "./Sender.ts"
import { makeSlots, makeSpeeds } from "./ConcurrencyLimiter.ts"

/** A claimed delivery with what is to be sent. */
export interface Claim {
  readonly row: ClaimedRow
  readonly claimedAt: Date
  readonly url: string
  /** What signs it, newest first. */
  readonly secrets: Effect.Effect<ReadonlyArray<Redacted.Redacted>>
  /** Nothing if the event is no longer kept. */
  readonly event: EventRecord | null
}

/**
 * How much later than its claim an exchange begins at most; it waits 1 s for a slot. A process that stood still meanwhile gives
 * the claim back: its endpoint may have changed or ended, and another node may have made the attempt.
 */
const SLACK = Duration.seconds(5)

/** A claim is seen by all nodes so long after the time that it bears at most: clocks differ, and a transaction takes its time. */
const UNSEEN = Duration.seconds(10)

/** So many claims without an end are the last: a fourth would only end another process. */
const MOST_CLAIMS = 3

const eventOf = (row: ClaimedRow, { actor, data, occurredAt, type }: Subject): EventRecord | null =>
  type === null || occurredAt === null || actor === null || data === null
    ? null
    : { id: row.eventId, type, timestamp: occurredAt, organizationId: row.organizationId, actor, data }

const unsent = (code: "abandoned" | "event_gone", message: string): AttemptOutcome => ({
  statusCode: null,
  responseBody: null,
  fault: { code, message },
})

/** The engine's single steps; the worker repeats them. */
export class Deliveries extends Context.Service<
  Deliveries,
  {
    /**
     * Claims due deliveries, at most so many, fairly over endpoints and within their caps. What is claimed and not
     * delivered is due again when the lease ends.
     */
    readonly claim: (most: number) => Effect.Effect<ReadonlyArray<Claim>>
    /** Gives back what a failed claim may have claimed; the next claim does so too. */
    readonly clearDoubts: Effect.Effect<void>
    /** Makes the attempt and returns when its end is stored. `sent` is called when nothing of it is in flight any more. */
    readonly deliver: (claim: Claim, sent?: () => void) => Effect.Effect<void>
    /** Gives back claims whose attempts have not begun. */
    readonly release: (claims: ReadonlyArray<Claim>) => Effect.Effect<void>
    /**
     * When something is due next, `null` if nothing is owed. In the past where caps are reached.
     */
    readonly nextDue: Effect.Effect<Date | null>
    /** Makes all attempts that are due now, and answers how many. */
    readonly deliverDue: Effect.Effect<number>
  }
>()("keyshelf/webhooks/Deliveries") {
  static readonly layer = Layer.effect(
    Deliveries,
    Effect.gen(function* () {
      const queue = yield* QueueRepo
      const attemptsRepo = yield* AttemptsRepo
      const attempts = yield* Attempts
      const nodes = yield* Nodes
      const pending = yield* PendingDeliveries
      const secrets = yield* WebhookSecrets
      const sender = yield* WebhookSender
      const transactions = yield* Transactions
      const limits = yield* DeliveryLimits
      if (Duration.isLessThan(limits.lease, Duration.sum(limits.timeout, LEASE_MARGIN))) {
        return yield* Effect.die(new Error("A lease must outlast the exchange by 20 s"))
      }

      const speeds = makeSpeeds()
      const inSlotOfEndpoint = makeSlots(limits.perEndpoint)
      const inSlotOfOrganization = makeSlots(limits.perOrganization)
      // This node's attempts whose end is not stored, by lease, and whether the exchange is over: what waits for the database
      // alone is in no receiver's way, and takes no room in the caps.
      const own = new Map<string, { readonly row: ClaimedRow; readonly isEnding: boolean }>()

      // Leases of claims that failed. They may have been committed all the same: the answer was lost.
      const doubtful = new Set<string>()

      const clearDoubts = Effect.fnUntraced(function* (at: Date) {
        const leases = [...doubtful]
        if (leases.length === 0) return
        yield* transactions.run(
          Effect.flatMap(queue.releaseLeases(leases, at), (heads) =>
            heads.length === 0 ? Effect.void : queue.lowerHeads(heads),
          ),
        )
        for (const lease of leases) doubtful.delete(lease)
      })

      // When the oldest claim in flight may have been made, by the last look at all. Those that have ended since stay as dead rows while
      // somebody has an old transaction open, and would be read each time.
      let inFlightSince = 0

      const claimRows = Effect.fnUntraced(function* (leases: ReadonlyArray<string>, at: Date) {
        const bounds = {
          at,
          leaseEnd: new Date(at.getTime() + Duration.toMillis(limits.lease)),
          inFlightSince: new Date(
            Math.max(inFlightSince, at.getTime() - Duration.toMillis(Duration.sum(limits.timeout, SLACK))),
          ),
          perEndpoint: limits.perEndpoint,
          perOrganization: limits.perOrganization,
          organizationAhead: Math.max(limits.organizationAhead, limits.perOrganization),
          endpointAhead: Math.max(limits.ahead, limits.perEndpoint),
          ...speeds.fastAmong([...own.values()].filter(({ isEnding }) => !isEnding).map(({ row }) => row)),
          owner: yield* nodes.owner,
          leases,
          own: [...own.keys()],
          ending: [...own].filter(([, { isEnding }]) => isEnding).map(([lease]) => lease),
          allowance: ({ endpointId }: LockedLane) =>
            speeds.isFast(endpointId) ? bounds.endpointAhead : limits.perEndpoint,
        }
        return yield* transactions.run(
          Effect.gen(function* () {
            yield* queue.planByIndex
            const lanes = yield* queue.lockLanes(bounds)
            const [lane] = lanes
            if (lane === undefined) return []
            inFlightSince = Math.min(
              lane.oldestClaimAt?.getTime() ?? Infinity,
              at.getTime() - Duration.toMillis(UNSEEN),
            )
            const rows = yield* queue.claim(lanes, bounds)
            yield* queue.touchLanes(lanes, at)
            return rows
          }),
        )
      })

      // Not in the transaction of the claim: a process that stands still meanwhile would keep all its lanes locked.
      const subjectsOf = (rows: ReadonlyArray<ClaimedRow>, at: Date) =>
        Effect.map(
          transactions.run(Effect.andThen(queue.planByIndex, attemptsRepo.subjects(rows, at))),
          (subjects) => new Map(subjects.map((subject) => [subject.lease, subject])),
        )

      const claimUnder = Effect.fnUntraced(function* (leases: ReadonlyArray<string>, at: Date) {
        const rows = yield* claimRows(leases, at)
        if (rows.length === 0) return []
        const subjects = yield* subjectsOf(rows, at)
        const claims: Array<Claim> = []
        const ended = new Map<string, ClaimedRow>()
        const context = yield* Effect.context()
        for (const row of rows) {
          const subject = subjects.get(row.lease)
          if (subject === undefined || subject.url === null) ended.set(`${row.organizationId}/${row.endpointId}`, row)
          else {
            claims.push({
              row,
              claimedAt: at,
              url: subject.url,
              secrets: secrets.open(row.organizationId, row.endpointId, subject.sealed),
              event: eventOf(row, subject),
            })
            own.set(row.lease, { row, isEnding: false })
          }
          metrics.lag.updateUnsafe((at.getTime() - row.dueAt.getTime()) / 1000, context)
        }
        for (const endpoint of ended.values()) yield* pending.dropRest(endpoint)
        return claims
      })

      const claim = Effect.fn("Deliveries.claim")(function* (most: number) {
        const at = yield* now
        yield* clearDoubts(at)
        const leases = yield* Effect.replicateEffect(newId, most)
        return yield* Effect.onError(claimUnder(leases, at), () =>
          Effect.sync(() => {
            for (const lease of leases) {
              own.delete(lease)
              doubtful.add(lease)
            }
          }),
        )
      }, Effect.uninterruptible)

      const send = Effect.fnUntraced(function* ({ event, row, url, ...claim }: Claim) {
        if (row.claims > MOST_CLAIMS) {
          return unsent("abandoned", `Nobody brought this attempt to an end in ${MOST_CLAIMS} claims`)
        }
        if (event === null) return unsent("event_gone", "The event is no longer kept")
        const at = yield* now
        const body = envelopeText(event)
        const active = yield* claim.secrets
        return yield* sender.send({
          organizationId: row.organizationId,
          endpointId: row.endpointId,
          deliveryId: row.id,
          eventId: row.eventId,
          attempt: row.attempt,
          url,
          headers: signedHeaders(row.eventId, at, body, active),
          body,
        })
      })

      const attempt = Effect.fnUntraced(function* (claim: Claim) {
        const clock = yield* Clock.Clock
        const began = clock.currentTimeNanosUnsafe()
        const outcome = yield* send(claim)
        const durationMs = Math.round(Number(clock.currentTimeNanosUnsafe() - began) / 1_000_000)
        speeds.note(claim.row.endpointId, outcome.fault === null, durationMs)
        return {
          claim: claim.row,
          url: claim.url,
          outcome,
          startedAt: claim.claimedAt,
          endedAt: yield* now,
          durationMs,
        }
      })

      const release = Effect.fn("Deliveries.release")(function* (claims: ReadonlyArray<Claim>) {
        if (claims.length === 0) return
        const at = yield* now
        yield* transactions.run(
          Effect.flatMap(
            queue.release(
              claims.map(({ row }) => ({ organizationId: row.organizationId, id: row.id, lease: row.lease })),
              at,
            ),
            (heads) => (heads.length === 0 ? Effect.void : queue.lowerHeads(heads)),
          ),
        )
        for (const { row } of claims) own.delete(row.lease)
      })

      const deliver = Effect.fnUntraced(
        function* (claim: Claim, sent?: () => void) {
          const ended = yield* inSlotOfEndpoint(
            claim.row.endpointId,
            inSlotOfOrganization(
              claim.row.organizationId,
              Effect.flatMap(now, (at) =>
                at.getTime() - claim.claimedAt.getTime() > Duration.toMillis(SLACK)
                  ? Effect.succeedNone
                  : Effect.asSome(attempt(claim)),
              ),
            ),
          )
          own.set(claim.row.lease, { row: claim.row, isEnding: true })
          sent?.()
          yield* Option.match(ended, { onNone: () => release([claim]), onSome: attempts.finish })
        },
        // Left to its lease, like the claim of a process that died: after three claims the attempt is abandoned.
        Effect.catchDefect((defect) =>
          Effect.logError("An attempt broke off and is made again after its lease", defect),
        ),
        (work, { row }) =>
          Effect.ensuring(
            work,
            Effect.sync(() => own.delete(row.lease)),
          ),
      )

      const deliverDue = Effect.gen(function* () {
        let made = 0
        for (;;) {
          const claims = yield* claim(limits.concurrency)
          if (claims.length === 0) return made
          yield* Effect.forEach(claims, (one) => deliver(one), { concurrency: "unbounded", discard: true })
          made += claims.length
        }
      })

      return Deliveries.of({
        claim,
        clearDoubts: Effect.flatMap(now, clearDoubts),
        deliver,
        nextDue: queue.nextDue,
        release,
        deliverDue,
      })
    }),
  )
}
