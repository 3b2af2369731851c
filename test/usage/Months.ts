/** Months of usage in a test's database: which there are, and dropping them. */
import { PgClient } from "@effect/sql-pg"
import { Duration, Effect, Layer, Option } from "effect"
import { UsagePartitions } from "../../src/domains/usage/partitions/Partitions.ts"
import { REST, UsagePartitionsRepo } from "../../src/domains/usage/partitions/Repo.ts"
import { months } from "../../src/kernel/database/TimePartitions.ts"
import { Transactions } from "../../src/kernel/database/Transactions.ts"
import { CurrentRetentionPeriods } from "../../src/kernel/ports/RetentionPeriods.ts"
import { DAY_MS } from "../../src/kernel/values/Timestamp.ts"

/** The shortest retention. */
const RETAINED_DAYS = 90

const dropping = Layer.fresh(UsagePartitions.layer).pipe(
  Layer.provide(
    Layer.succeed(CurrentRetentionPeriods, {
      retiredTokens: Duration.days(90),
      events: Option.none(),
      usageEvents: Option.some(Duration.days(RETAINED_DAYS)),
    }),
  ),
)

/** Drops the months before an instant. Returns how many partitions were dropped. */
export const dropBefore = (cutoff: Date) =>
  Effect.flatMap(UsagePartitions, ({ maintain }) => maintain(new Date(cutoff.getTime() + RETAINED_DAYS * DAY_MS))).pipe(
    Effect.provide(dropping),
  )

/** Leaves only so many empty months, and none that was dropped. */
export const newMonths = Effect.fnUntraced(function* (first: Date, count: number) {
  const sql = yield* PgClient.PgClient
  const repo = yield* UsagePartitionsRepo
  for (const { name } of yield* repo.list) if (name !== REST) yield* sql`DROP TABLE ${sql(name)}`
  yield* sql`TRUNCATE ${sql(REST)}, usage_days, usage_key_buckets, usage_drops, usage_drop_changes`
  yield* sql`UPDATE usage_retention SET dropped_until = NULL`
  const transactions = yield* Transactions
  for (let month = 0; month < count; month++) yield* transactions.run(repo.create(months.of(first) + month))
})
