/**
 * Deletes the rows of removed organizations, in transactions of at most a batch. It keeps no state: after an interruption the
 * next step goes on where rows are left. Any number of nodes can do so concurrently.
 */
import { Context, Duration, Effect, Layer } from "effect"
import type { RetentionJob } from "../../kernel/database/ExpiredRows.ts"
import { inOrder } from "../../kernel/database/RemovedOrganizations.ts"
import { endedBefore } from "../../kernel/ports/RetentionPeriods.ts"
import { removal as access } from "../access/tokens/Removal.ts"
import { removal as components } from "../components/Removal.ts"
import { removal as connectors } from "../connectors/Removal.ts"
import { removal as customers } from "../customers/Removal.ts"
import { removal as entitlements } from "../entitlements/Removal.ts"
import { removal as audit } from "../audit/Removal.ts"
import { removal as events } from "../events/Removal.ts"
import { removal as flags } from "../flags/Removal.ts"
import { removal as groups } from "../groups/Removal.ts"
import { removal as idempotency } from "../idempotency/Removal.ts"
import { removal as instances } from "../instances/Removal.ts"
import { removal as integrations } from "../integrations/Removal.ts"
import { removal as licenses } from "../licenses/Removal.ts"
import { removal as metadata } from "../metadata/Removal.ts"
import { removal as migrations } from "../migrations/Removal.ts"
import { removal as offline } from "../offline/Removal.ts"
import { OrganizationRetention } from "../organizations/Retention.ts"
import { removal as people } from "../people/Removal.ts"
import { removal as releases } from "../releases/Removal.ts"
import { removal as signing } from "../signing/Removal.ts"
import { removal as usage } from "../usage/Removal.ts"
import { QueueTransactions } from "../webhooks/queue/QueueTransactions.ts"
import { removal as webhooks } from "../webhooks/Removal.ts"
import { removal as zones } from "../zones/Removal.ts"

/**
 * How long the row of the organization stays after its removal. Requests and deliveries that began before the removal end within a
 * minute. What they still store is found as long as the row exists.
 */
export const LATE_ROWS = Duration.minutes(10)

const make = Effect.gen(function* () {
  const organizations = yield* OrganizationRetention
  const transactions = yield* QueueTransactions

  // Stored responses first, because they are found by credentials. Otherwise against the order of the domains, so that no
  // row is deleted before those that refer to it. Deletions emit no events, so the stream goes last.
  const rows = yield* inOrder(
    idempotency,
    access,
    audit,
    webhooks,
    offline,
    flags,
    migrations,
    usage,
    integrations,
    instances,
    customers,
    licenses,
    groups,
    entitlements,
    zones,
    releases,
    components,
    connectors,
    metadata,
    signing,
    people,
    events,
  )

  const deleteSomeOf = Effect.fnUntraced(function* (organizationId: string, count: number) {
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
    /** The tables whose rows are deleted. */
    tables: rows.map(({ table }) => table),
  }
})

/** Deletes what belongs to removed organizations. */
export class OrganizationRemoval extends Context.Service<OrganizationRemoval, Effect.Success<typeof make>>()(
  "keyshelf/maintenance/OrganizationRemoval",
) {
  static readonly layer = Layer.effect(OrganizationRemoval, make)
}
