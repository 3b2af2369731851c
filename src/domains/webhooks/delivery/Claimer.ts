/** Claims due deliveries for this node, and releases claims whose attempts never began. */
import { Duration, Effect } from "effect"
import type { Redacted } from "effect"
import { Transactions } from "../../../kernel/database/Transactions.ts"
import { newId } from "../../../kernel/values/Identifiers.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import type { StoredEvent } from "../../events/log/EventText.ts"
import { DeliveryLimits } from "../DeliveryLimits.ts"
import type { Limits } from "../DeliveryLimits.ts"
import { SigningSecrets } from "../endpoints/SigningSecrets.ts"
import { ClaimRescuer } from "../maintenance/ClaimRescuer.ts"
import { QueueMaintenanceRepo } from "../maintenance/Repo.ts"
import * as metrics from "../Metrics.ts"
import { endpointName } from "../Model.ts"
import { eventOf } from "../Payload.ts"
import { BacklogRemover } from "../queue/BacklogRemover.ts"
import { QueueRepo } from "../queue/QueueRepo.ts"
import type { ClaimRequest, LockedLane } from "../queue/Model.ts"
import type { ClaimedRow } from "../queue/QueueRepo.ts"
import { QueueTransactions } from "../queue/QueueTransactions.ts"
import { AttemptsRepo } from "./AttemptsRepo.ts"
import type { SpeedTracker } from "./ConcurrencyLimiter.ts"

/** A claimed delivery, with everything that its attempt sends. */
export interface Claim {
  readonly row: ClaimedRow
  readonly claimedAt: Date
  readonly url: string
  /** The secrets that sign it, newest first. */
  readonly secrets: Effect.Effect<ReadonlyArray<Redacted.Redacted>>
  /** `null` if the event is no longer stored. */
  readonly event: StoredEvent | null
}

/**
 * The maximum delay between a claim and the start of its exchange. The limiter may use up to 1 s of it. A
 * process that was suspended longer releases the claim: the endpoint may have changed or ended, or another node may
 * have made the attempt.
 */
export const MAX_START_DELAY = Duration.seconds(5)

/** The maximum delay between a claim's timestamp and its visibility to all nodes: clock skew plus the transaction. */
const MAX_VISIBILITY_DELAY = Duration.seconds(10)

/** A claim that this node holds. */
interface OwnClaim {
  readonly row: ClaimedRow
  /**
   * Whether the exchange is over and only the outcome remains to be stored. Such a claim no longer counts against the
   * limits.
   */
  readonly isRecording: boolean
  /** The id under which it is held, as far as this node knows. */
  readonly owner: string | null
}

/** The claims of this node. */
interface Claimer {
  /**
   * Claims up to `max` due deliveries, fairly over endpoints and within their limits. A claim that is not delivered is
   * due again when its lease expires.
   */
  readonly claim: (max: number) => Effect.Effect<ReadonlyArray<Claim>>
  /** Releases claims whose attempts have not begun. */
  readonly release: (claims: ReadonlyArray<Claim>) => Effect.Effect<void>
  /**
   * Releases the claims of statements that failed. Their commit is unconfirmed: it may have succeeded without a
   * response.
   */
  readonly releaseUnconfirmed: (at: Date) => Effect.Effect<void>
  /**
   * Holds all claims under the current id of this node. Until a node's sign of life is seen, after a start or a lost
   * session, its claims have no owner, and only their leases would end them.
   */
  readonly adopt: Effect.Effect<void>
  /** Records that the exchange of the claim is over. */
  readonly markRecording: (claim: Claim) => void
  /** Removes a claim whose attempt has ended. */
  readonly forget: (claim: Claim) => void
}

type OwnClaims = ReadonlyMap<string, OwnClaim>

/** Builds the parameters of a claim from what this node currently delivers. */
const requestsOf = (limits: Limits, speeds: SpeedTracker, own: OwnClaims) => {
  const endpointAhead = Math.max(limits.ahead, limits.perEndpoint)

  return (leases: ReadonlyArray<string>, owner: string | null, at: Date, inFlightSince: number): ClaimRequest => {
    return {
      at,
      leaseEnd: new Date(at.getTime() + Duration.toMillis(limits.lease)),
      inFlightSince: new Date(
        Math.max(inFlightSince, at.getTime() - Duration.toMillis(Duration.sum(limits.timeout, MAX_START_DELAY))),
      ),
      perEndpoint: limits.perEndpoint,
      perOrganization: limits.perOrganization,
      organizationAhead: Math.max(limits.organizationAhead, limits.perOrganization),
      endpointAhead,
      ...speeds.selectFast([...own.values()].filter(({ isRecording }) => !isRecording).map(({ row }) => row)),
      owner,
      leases,
      ownLeases: [...own.keys()],
      recording: [...own].filter(([, { isRecording }]) => isRecording).map(([lease]) => lease),
      allowance: ({ endpointId }: LockedLane) => (speeds.isFast(endpointId) ? endpointAhead : limits.perEndpoint),
    }
  }
}

/** Claims rows of the queue under the limits of this node. */
const rowClaims = Effect.fnUntraced(function* (speeds: SpeedTracker, own: OwnClaims) {
  const queue = yield* QueueRepo
  const transactions = yield* QueueTransactions
  const requestOf = requestsOf(yield* DeliveryLimits, speeds, own)

  // The earliest possible time of the oldest claim in flight, by the last claim. Ended claims stay in the index while
  // another transaction is old, and would be read each time.
  let inFlightSince = 0

  return Effect.fnUntraced(function* (leases: ReadonlyArray<string>, owner: string | null, at: Date) {
    const request = requestOf(leases, owner, at, inFlightSince)
    return yield* transactions.run(
      Effect.gen(function* () {
        const lanes = yield* queue.lockLanes(request)
        const [lane] = lanes
        if (lane === undefined) return []
        inFlightSince = Math.min(
          lane.oldestClaimAt?.getTime() ?? Infinity,
          at.getTime() - Duration.toMillis(MAX_VISIBILITY_DELAY),
        )
        const rows = yield* queue.claimDue(lanes, request)
        yield* queue.markLanesServed(lanes, at)
        return rows
      }),
    )
  })
})

/** Holds claims under the current id of this node. */
const adoption = Effect.fnUntraced(function* (own: Map<string, OwnClaim>) {
  const rescuer = yield* ClaimRescuer
  const maintenance = yield* QueueMaintenanceRepo
  const transactions = yield* QueueTransactions

  return Effect.gen(function* () {
    const owner = yield* rescuer.owner
    if (owner === null) return
    const leases = [...own].filter(([, held]) => held.owner !== owner).map(([lease]) => lease)
    if (leases.length === 0) return
    for (const lease of yield* transactions.run(maintenance.setOwner(leases, owner))) {
      const held = own.get(lease)
      if (held !== undefined) own.set(lease, { ...held, owner })
    }
  })
})

/** Claims rows, and reads what their attempts send. */
const claiming = Effect.fnUntraced(function* (
  speeds: SpeedTracker,
  own: Map<string, OwnClaim>,
  adopt: Claimer["adopt"],
) {
  const attempts = yield* AttemptsRepo
  const rescuer = yield* ClaimRescuer
  const backlogs = yield* BacklogRemover
  const secrets = yield* SigningSecrets
  const queueTransactions = yield* QueueTransactions
  const claimRows = yield* rowClaims(speeds, own)

  // Not in the transaction of the claim: a process that is suspended in between would keep all its lanes locked.
  const findSubjects = (rows: ReadonlyArray<ClaimedRow>, at: Date) =>
    Effect.map(
      queueTransactions.run(attempts.findSubjects(rows, at)),
      (subjects) => new Map(subjects.map((subject) => [subject.lease, subject])),
    )

  return Effect.fnUntraced(function* (leases: ReadonlyArray<string>, at: Date) {
    const owner = yield* rescuer.owner
    const rows = yield* claimRows(leases, owner, at)
    if (rows.length === 0) return []
    const subjects = yield* findSubjects(rows, at)
    const claims: Array<Claim> = []
    const ended = new Map<string, ClaimedRow>()
    const context = yield* Effect.context()
    for (const row of rows) {
      const subject = subjects.get(row.lease)
      if (subject === undefined || subject.url === null) ended.set(endpointName(row), row)
      else {
        claims.push({
          row,
          claimedAt: at,
          url: subject.url,
          secrets: secrets.open(row.organizationId, row.endpointId, subject.sealed),
          event: eventOf(row, subject),
        })
        own.set(row.lease, { row, isRecording: false, owner })
      }
      metrics.deliveryLag.updateUnsafe((at.getTime() - row.dueAt.getTime()) / 1000, context)
    }
    for (const endpoint of ended.values()) yield* backlogs.deleteInBackground(endpoint)
    // The sign of life was seen while the claim was in flight, and `adopt` could not find it. Without an owner it would wait
    // for its lease if this process died now. If this fails, the next run of the rescuer adopts.
    if ((yield* rescuer.owner) !== owner) yield* Effect.ignoreCause(adopt)
    return claims
  })
})

/** Creates the claimer of a node. */
export const makeClaimer = Effect.fnUntraced(function* (speeds: SpeedTracker) {
  const queue = yield* QueueRepo
  const transactions = yield* Transactions

  const own = new Map<string, OwnClaim>()
  const unconfirmed = new Set<string>()
  const adopt = yield* adoption(own)
  const claimAs = yield* claiming(speeds, own, adopt)

  const releaseUnconfirmed = Effect.fnUntraced(function* (at: Date) {
    const leases = [...unconfirmed]
    if (leases.length === 0) return
    yield* transactions.run(queue.releaseLeases(leases, at))
    for (const lease of leases) unconfirmed.delete(lease)
  })

  const claim = Effect.fn("Deliveries.claim")(function* (max: number) {
    const at = yield* now
    yield* releaseUnconfirmed(at)
    const leases = yield* Effect.replicateEffect(newId, max)
    return yield* Effect.onError(claimAs(leases, at), () =>
      Effect.sync(() => {
        for (const lease of leases) {
          own.delete(lease)
          unconfirmed.add(lease)
        }
      }),
    )
  }, Effect.uninterruptible)

  const release = Effect.fn("Deliveries.release")(function* (claims: ReadonlyArray<Claim>) {
    if (claims.length === 0) return
    const at = yield* now
    const keys = claims.map(({ row }) => ({ organizationId: row.organizationId, id: row.id, lease: row.lease }))
    yield* transactions.run(queue.releaseClaims(keys, at))
    for (const { row } of claims) own.delete(row.lease)
  })

  const claimer: Claimer = {
    claim,
    release,
    releaseUnconfirmed,
    adopt,
    markRecording: ({ row }) =>
      void own.set(row.lease, { row, isRecording: true, owner: own.get(row.lease)?.owner ?? null }),
    forget: ({ row }) => void own.delete(row.lease),
  }
  return claimer
})
