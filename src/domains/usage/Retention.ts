/** Retention of usage: transaction ids and event ids until they expire, finished reservations for a week, leases for a day, allowances while usage can be uploaded, and months of usage events. */
import { Context, Duration, Effect, Layer } from "effect"
import { deleteExpired } from "../../kernel/database/ExpiredRows.ts"
import type { RetentionJob } from "../../kernel/database/ExpiredRows.ts"
import { endedBefore } from "../../kernel/ports/RetentionPeriods.ts"
import { Rollups } from "./history/Rollups.ts"
import { LeasesRepo } from "./leases/Repo.ts"
import { UsagePartitions } from "./partitions/Partitions.ts"
import { ReservationsRepo } from "./reservations/Repo.ts"

// During this time a late commit gets the state of the reservation instead of a 404.
const FINISHED_RESERVATIONS = Duration.days(7)

/** Deletes expired ids, finished reservations and leases that ended. Committed usage stays counted. */
export class UsageRetention extends Context.Service<UsageRetention, { readonly jobs: ReadonlyArray<RetentionJob> }>()(
  "keyshelf/usage/Retention",
) {
  static readonly layer = Layer.effect(
    UsageRetention,
    Effect.gen(function* () {
      const reservations = yield* ReservationsRepo
      const leases = yield* LeasesRepo
      const rollups = yield* Rollups
      const partitions = yield* UsagePartitions
      return UsageRetention.of({
        jobs: [
          yield* deleteExpired("usage_transactions"),
          yield* deleteExpired("usage_event_ids"),
          {
            kind: "usage_reservations",
            step: (at, count) => reservations.deleteFinished(endedBefore(at, FINISHED_RESERVATIONS), count),
          },
          { kind: "usage_leases", step: leases.deleteEnded },
          yield* deleteExpired("offline_allowances", "open_until"),
          rollups.job,
          partitions.job,
        ],
      })
    }),
  )
}
