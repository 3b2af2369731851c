/** Acquires and renews leases. */
import { Effect, Option } from "effect"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { Transactions } from "../../../kernel/database/Transactions.ts"
import { newId } from "../../../kernel/values/Identifiers.ts"
import { AcquireLeaseLimitReached } from "../Errors.ts"
import { LedgerRepo } from "../ledger/LedgerRepo.ts"
import { meterOf } from "../ledger/MeterSql.ts"
import type { Meter } from "../ledger/Model.ts"
import { DEFAULT_TTL_SECONDS } from "./Model.ts"
import type { AcquireLease } from "./Model.ts"
import { LeasesRepo } from "./Repo.ts"
import type { LeaseRow } from "./Repo.ts"
import { decideSeat, endOfDay, leaseRefusalText, seatsOf } from "./Rules.ts"
import { leaseOf, seats } from "./Seats.ts"

export const acquisition = Effect.gen(function* () {
  const repo = yield* LeasesRepo
  const meters = yield* LedgerRepo
  const transactions = yield* Transactions
  const { lock, required } = yield* seats

  const refused = (meter: Meter, others: number, at: Date) => {
    const decision = decideSeat(meter, others, at)
    return decision.allowed
      ? undefined
      : new AcquireLeaseLimitReached({ detail: leaseRefusalText(meter, decision, others) })
  }

  const renew = Effect.fnUntraced(function* (
    meter: Meter,
    live: Omit<LeaseRow, "sweepAfter">,
    row: LeaseRow,
    mostHeld: number,
  ) {
    // Only where the limit has fallen below what was held, those before it have to be counted.
    const others = mostHeld <= seatsOf(meter) ? 0 : yield* repo.countBefore(meter, live, row.renewedAt)
    const problem = refused(meter, others, row.renewedAt)
    if (problem !== undefined) return yield* problem
    yield* repo.renew(meter, row)
    return { isNew: false, lease: leaseOf(meter, row) }
  })

  const add = Effect.fnUntraced(function* (meter: Meter, row: LeaseRow) {
    const live = yield* repo.countLive(meter, row.acquiredAt)
    const problem = refused(meter, live, row.acquiredAt)
    if (problem !== undefined) return yield* problem
    yield* repo.insert(meter, row)
    yield* repo.storeMostHeld(meter, live + 1)
    return { isNew: true, lease: leaseOf(meter, row) }
  })

  return Effect.fn("Leases.acquire")(function* (instance: string, entitlement: string, sent: AcquireLease) {
    const { organizationId } = yield* Caller
    return yield* transactions.run(
      Effect.gen(function* () {
        const found = yield* meters.lockTermsShared(organizationId, { instance, entitlement })
        const terms = yield* required(organizationId, instance, entitlement, Option.getOrUndefined(found))
        const { at, mostHeld } = yield* lock(terms)
        const meter = meterOf(terms, at)
        const live = Option.getOrUndefined(yield* repo.findLive(meter, sent.holder, at))
        const expiresAt = new Date(at.getTime() + (sent.ttlSeconds ?? DEFAULT_TTL_SECONDS) * 1000)
        const row: LeaseRow = {
          id: live?.id ?? (yield* newId),
          holder: sent.holder,
          acquiredAt: live?.acquiredAt ?? at,
          renewedAt: at,
          expiresAt,
          sweepAfter: endOfDay(expiresAt),
          metadata: sent.metadata ?? live?.metadata ?? null,
        }
        return yield* live === undefined ? add(meter, row) : renew(meter, live, row, mostHeld)
      }),
    )
  })
})
