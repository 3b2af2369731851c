/** {@link BacklogRepo} on Citus, where the queue is on the coordinator, and endpoints and attempts are in shards. */
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer, Schema } from "effect"
import { column, decoded, executed } from "../../../kernel/database/Statements.ts"
import { EndpointKey } from "../Model.ts"
import { BacklogRepo } from "../queue/BacklogRepo.ts"
import { backlogSql } from "../queue/BacklogSql.ts"

const DeletedDelivery = Schema.Struct({ id: Schema.String, attempt: Schema.Int, due_at: Schema.Date })

export const layer = Layer.effect(
  BacklogRepo,
  Effect.gen(function* () {
    const sql = yield* PgClient.PgClient
    const repo = yield* BacklogRepo
    const { deletion, failure, hasLost, laneKey, lastAttempts } = backlogSql(sql)

    return BacklogRepo.of({
      ...repo,
      deleteBatch: Effect.fnUntraced(function* (endpoint, end, reason, count) {
        const deleted = yield* decoded(DeletedDelivery)(sql`${deletion(endpoint, end, count)}`)
        const retried = deleted.filter(({ attempt }) => attempt > 1)
        if (retried.length > 0) {
          const rows = sql`unnest(
            (SELECT ${column("uuid", retried, ({ id }) => id)}),
            ${column("int2", retried, ({ attempt }) => attempt)},
            ${column("timestamptz", retried, ({ due_at }) => due_at)}
          ) AS deleted (id, attempt, due_at)`
          yield* executed(failure(endpoint, reason, sql`(${lastAttempts(endpoint, rows)}) AS last`))
        }
        return deleted.length
      }),
      findEnded: (count) =>
        decoded(EndpointKey)(sql`
          WITH endpoint AS MATERIALIZED (
            SELECT organization_id, id, disabled_at IS NOT NULL AS disabled FROM webhook_endpoints
          )
          SELECT ${laneKey} FROM webhook_lanes lane
          LEFT JOIN endpoint ON endpoint.organization_id = lane.organization_id AND endpoint.id = lane.endpoint_id
          WHERE endpoint.id IS NULL OR (endpoint.disabled AND ${hasLost}) LIMIT ${count}`),
    })
  }),
).pipe(Layer.provide(BacklogRepo.layer))
