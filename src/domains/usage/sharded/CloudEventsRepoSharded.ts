/**
 * {@link CloudEventsRepo} on Citus, which would send what a WITH query has inserted to all workers. So there is one statement for each
 * step, all on one worker.
 */
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer, Schema } from "effect"
import { column, decoded, executed, returnedCount } from "../../../kernel/database/Statements.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import type { BatchTotals, TalliedEvent } from "../cloudevents/BatchTotals.ts"
import { beginning, eventArrays, eventColumns, keeping, raising, tallied } from "../cloudevents/PostSql.ts"
import type { Reception } from "../cloudevents/PostSql.ts"
import { CloudEventsRepo } from "../cloudevents/Repo.ts"

/** A total that was raised, and how many events it had before. */
const RaisedTotal = Schema.Struct({ place: Schema.Int, before: Schema.Int })

/** Posts a batch in one statement for each step. */
const postInSteps = (sql: PgClient.PgClient) =>
  Effect.fnUntraced(function* (
    organizationId: OrganizationId,
    { events, tallies }: BatchTotals,
    { at, reportedBy }: Reception,
  ) {
    const posted = yield* decoded(RaisedTotal)(sql`
      WITH ${tallied(sql, tallies)}, posted AS (${raising(sql, organizationId, at)})
      SELECT place::int AS place, before::float8 AS before FROM posted`)
    const before = new Map(posted.map((total) => [total.place, total.before]))
    const others = tallies.filter((_, index) => !before.has(index + 1))
    const begun =
      others.length === 0
        ? 0
        : yield* returnedCount(
            sql`${beginning(
              sql,
              organizationId,
              sql`(WITH ${tallied(sql, others)} ${keeping(sql, organizationId, "tallied")}) kept`,
              at,
            )}`,
          )
    const taken = posted.length + begun
    if (taken < tallies.length) return taken
    const keyOf = ({ tally }: TalliedEvent) => tallies[tally - 1]
    yield* executed(sql`
      INSERT INTO usage_events ${sql.literal(eventColumns)}
      SELECT ${organizationId}::uuid, sent.instance_id, sent.entitlement_id, sent.period_start, sent.ordinal, sent.timestamp,
        'append', sent.value, sent.unique_key, NULL::jsonb, ${at}::timestamptz, ${sql.json(reportedBy)}::jsonb, sent.id, sent.source
      FROM unnest(
        (SELECT ${column("uuid", events, (event) => keyOf(event)?.instanceId)}),
        ${column("uuid", events, (event) => keyOf(event)?.entitlementId)},
        ${column("timestamptz", events, (event) => keyOf(event)?.periodStart)},
        ${column("float8", events, ({ rank, tally }) => (before.get(tally) ?? 0) + rank)},${eventArrays(sql, events)}
      ) AS sent (instance_id, entitlement_id, period_start, ordinal, timestamp, value, unique_key, id, source)`)
    return taken
  })

export const layer = Layer.effect(
  CloudEventsRepo,
  Effect.gen(function* () {
    const sql = yield* PgClient.PgClient
    const repo = yield* CloudEventsRepo
    return CloudEventsRepo.of({ ...repo, post: postInSteps(sql) })
  }),
).pipe(Layer.provide(CloudEventsRepo.layer))
