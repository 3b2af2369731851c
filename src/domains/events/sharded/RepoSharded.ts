/**
 * {@link EventsRepo} on Citus, where all of an organization's events are in one shard, and the outbox is on the coordinator. A statement
 * changes one table there: the result of a change within another one would be sent to all workers, and wait for each.
 */
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer, Option, Schema } from "effect"
import type { EventRecord } from "../../../kernel/contract/Event.ts"
import { isRemoved } from "../../../kernel/database/RemovedOrganizations.ts"
import { isAt } from "../../../kernel/database/RowsByKey.ts"
import {
  decoded,
  decodedColumn,
  decodedValue,
  executed,
  returnedCount,
  returnedRow,
} from "../../../kernel/database/Statements.ts"
import { Transactions } from "../../../kernel/database/Transactions.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { insertEvent, OutboxCondition } from "../OutboxSql.ts"
import { eventsUpTo, firstRetained } from "../log/PagesSql.ts"
import { advanceHeads, eventByKey, insertPlaced, PLACED_COLUMNS } from "../log/PlacingSql.ts"
import { AdvancedStream, EventsRepo, organizationIdsIn } from "../Repo.ts"
import type { PlacedStream, PlacingOptions } from "../Repo.ts"

const insertions = (
  sql: PgClient.PgClient,
  transactions: Transactions["Service"],
  condition: typeof OutboxCondition.Service,
) => {
  const insert = (event: EventRecord) =>
    Effect.andThen(
      executed(insertEvent(sql, event)),
      executed(sql`
        INSERT INTO event_arrivals (organization_id, event_id) VALUES (${event.organizationId}, ${event.id})`),
    )

  const isSubscribed = (organizationId: OrganizationId) =>
    condition === undefined ? Effect.succeed(true) : returnedRow(sql`SELECT 1 WHERE ${condition(sql, organizationId)}`)

  const insertForDelivery = Effect.fnUntraced(function* (event: EventRecord) {
    yield* insert(event)
    if (!(yield* isSubscribed(event.organizationId))) return false
    yield* executed(sql`
      INSERT INTO webhook_outbox (organization_id, event_id, due_at)
      VALUES (${event.organizationId}, ${event.id}, ${event.timestamp}::timestamptz)`)
    return true
  })

  return {
    insert,
    insertForDelivery,
    insertWithChange: (change, event) =>
      transactions.run(
        Effect.gen(function* () {
          if (!(yield* returnedRow(sql`${change}`))) return Option.none()
          return Option.some(yield* insertForDelivery(event))
        }),
      ),
  } satisfies Partial<EventsRepo["Service"]>
}

const unordered = (sql: PgClient.PgClient) =>
  ({
    withUnordered: (organizationIds) =>
      organizationIdsIn(sql`
        SELECT DISTINCT organization_id AS id FROM event_arrivals WHERE organization_id = ANY(${organizationIds}::uuid[])`),
    unordered: organizationIdsIn(sql`
      SELECT DISTINCT organization_id AS id FROM event_arrivals
      WHERE NOT ${sql.literal(isRemoved("event_arrivals.organization_id"))}`),
  }) satisfies Partial<EventsRepo["Service"]>

const eventIdsIn = decodedColumn("event_id", Schema.String)
const headIn = decodedValue("head", Schema.Int)

const ordering = (sql: PgClient.PgClient) => {
  /** An event that arrives between these statements waits for the next call. */
  const placeOne = Effect.fnUntraced(function* (organizationId: OrganizationId, { count, isSealed }: PlacingOptions) {
    const ids = yield* eventIdsIn(sql`
      SELECT event_id FROM event_arrivals WHERE organization_id = ${organizationId}
      ORDER BY event_id LIMIT ${count ?? null}::bigint`)
    if (ids.length === 0) return []
    const head = yield* Effect.map(
      headIn(sql`SELECT head::float8 AS head FROM event_streams WHERE organization_id = ${organizationId}`),
      Option.getOrElse(() => 0),
    )
    const placed = sql`(
      SELECT ${organizationId}::uuid AS organization_id, event.*, row_number() OVER (ORDER BY event.id) AS number
      FROM unnest((SELECT ${ids}::uuid[])) AS arrived (event_id)
      CROSS JOIN ${eventByKey(sql, organizationId, PLACED_COLUMNS, "arrived.event_id")} AS event
    ) AS placed`
    const added = yield* returnedCount(sql`${insertPlaced(sql, sql`${head}::bigint`, placed)} RETURNING position`)
    yield* executed(sql`
      DELETE FROM event_arrivals WHERE organization_id = ${organizationId} AND event_id = ANY(${ids}::uuid[])`)
    if (added === 0) return []
    const counted = sql`(SELECT ${organizationId}::uuid AS organization_id, ${added}::bigint AS count) AS placed`
    const streams = yield* decoded(AdvancedStream)(advanceHeads(sql, isSealed, counted))
    return streams.map((stream): PlacedStream => ({ ...stream, placed: added }))
  })

  return {
    // A transaction of several organizations would be one of several workers.
    maxTogether: 1,
    assignPositions: (organizationIds, options) =>
      Effect.map(
        Effect.forEach(organizationIds, (id) => placeOne(id, options)),
        (streams) => streams.flat(),
      ),
  } satisfies Partial<EventsRepo["Service"]>
}

const eventIdIn = decodedValue("event_id", Schema.String)

const retention = (sql: PgClient.PgClient) =>
  ({
    // Ids rise with time, so few other events follow the first one that waits.
    firstRetained: Effect.fnUntraced(function* (organizationId, from) {
      const isWaiting = Option.match(
        yield* eventIdIn(sql`
          SELECT event_id FROM webhook_outbox WHERE organization_id = ${organizationId} ORDER BY event_id LIMIT 1`),
        { onNone: () => sql`false`, onSome: (id) => sql`event.id >= ${id}::uuid` },
      )
      return yield* firstRetained(sql, organizationId, from, isWaiting)
    }),
    deleteUpTo: (organizationId, position) =>
      executed(sql`
        DELETE FROM events WHERE ${isAt(sql, organizationId, eventsUpTo(sql, organizationId, position, "ctid"))}`),
  }) satisfies Partial<EventsRepo["Service"]>

export const layer = Layer.effect(
  EventsRepo,
  Effect.gen(function* () {
    const sql = yield* PgClient.PgClient
    return EventsRepo.of({
      ...(yield* EventsRepo),
      ...insertions(sql, yield* Transactions, yield* OutboxCondition),
      ...unordered(sql),
      ...ordering(sql),
      ...retention(sql),
    })
  }),
).pipe(Layer.provide(EventsRepo.layer))
