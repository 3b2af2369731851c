/**
 * Deletes the rows of removed organizations, in transactions of at most a batch. It keeps no state: after an interruption the
 * next step continues with the remaining rows. Any number of nodes can do so concurrently.
 */
import { Context, Duration, Effect, Layer } from "effect"
import type { RetentionJob } from "../../kernel/database/ExpiredRows.ts"
import { endedBefore } from "../../kernel/ports/RetentionPeriods.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"
import { OrganizationRetention } from "../organizations/Retention.ts"
import { QueueTransactions } from "../webhooks/queue/QueueTransactions.ts"
import { removalOrder } from "./RemovalOrder.ts"

/**
 * How long the row of the organization stays after its removal. Requests and deliveries that began before the removal end within a
 * minute. What they still store is found as long as the row exists.
 */
export const LATE_ROWS = Duration.minutes(10)

/** Deletes what belongs to removed organizations. */
export class OrganizationRemoval extends Context.Service<
  OrganizationRemoval,
  {
    /** The retention job that deletes a batch of rows of removed organizations. */
    readonly jobs: ReadonlyArray<RetentionJob>
    /** The tables whose rows are deleted. */
    readonly tables: ReadonlyArray<string>
  }
>()("keyshelf/maintenance/OrganizationRemoval") {
  static readonly layer = Layer.suspend(() => Layer.effect(OrganizationRemoval, make))
}

const make = Effect.gen(function* () {
  const organizations = yield* OrganizationRetention
  const transactions = yield* QueueTransactions

  const rows = yield* removalOrder

  const deleteSomeOf = Effect.fnUntraced(function* (organizationId: OrganizationId, count: number) {
    let done = 0
    for (const { deleteSome } of rows) {
      if (done >= count) break
      // By index: a scan of the table would pass over all rows that were deleted before, in every batch.
      done += yield* transactions.run(deleteSome(organizationId, count - done), { joins: "nested" })
    }
    return done
  })

  const step = Effect.fn("OrganizationRemoval.step")(function* (at: Date, count: number) {
    const endOfWait = endedBefore(at, LATE_ROWS)
    let done = 0
    for (const { id, removedAt } of yield* organizations.removed) {
      if (done >= count) break
      const deleted = yield* deleteSomeOf(id, count - done)
      done += deleted
      if (deleted === 0 && removedAt.getTime() <= endOfWait.getTime()) yield* organizations.forget(id)
    }
    return done
  })

  const jobs: ReadonlyArray<RetentionJob> = [{ kind: "removed_organizations", step }]
  return {
    jobs,
    tables: rows.map(({ table }) => table),
  }
})
