/** {@link Outbox} on Citus, where its rows are on the coordinator and the events in shards. */
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer, Schema, Struct } from "effect"
import { inEachOrganization } from "../../../kernel/database/DueOrganizations.ts"
import { isRemoved, presentAmong } from "../../../kernel/database/RemovedOrganizations.ts"
import { decoded, executed, records } from "../../../kernel/database/Statements.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import type { StoredEvent } from "../log/EventText.ts"
import { contents, dueRows, Outbox, OutboxEntry } from "../Outbox.ts"
import type { OutboxKey } from "../Outbox.ts"

const LockedKey = OutboxEntry.mapFields(Struct.omit(["type", "occurredAt"]))

const EnteredEvent = Schema.Struct({ id: Schema.String, type: Schema.String, occurredAt: Schema.Date })

/** The time in milliseconds after which an event that was not visible yet is due again. */
const UNCOMMITTED_DELAY_MS = 250

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const outbox = yield* Outbox

  /**
   * Of events that were not found, those that may still become visible. Citus commits their outbox rows on the coordinator first, and
   * the events themselves a moment later, or when their worker is back. Those of a removed organization are not waited for.
   */
  const findUncommitted = Effect.fnUntraced(function* <Key extends OutboxKey>(missing: ReadonlyArray<Key>) {
    if (missing.length === 0) return []
    const ids = [...new Set(missing.map(({ organizationId }) => organizationId))]
    const present = yield* presentAmong(sql, ids)
    return missing.filter(({ organizationId }) => present.has(organizationId))
  })

  const lockDue = Effect.fnUntraced(function* (
    organizationIds: ReadonlyArray<OrganizationId>,
    at: Date,
    perOrganization: number,
  ) {
    const due = yield* decoded(LockedKey)(sql`
      SELECT due.organization_id AS "organizationId", due.event_id AS "eventId", due.location::text AS "rowLocation"
      FROM ${dueRows(sql, organizationIds, at, perOrganization)}`)
    const events = yield* inEachOrganization(
      due,
      (key) => key.organizationId,
      (organizationId, own) =>
        decoded(EnteredEvent)(sql`
          SELECT id, type, occurred_at AS "occurredAt" FROM events
          WHERE organization_id = ${organizationId} AND id = ANY(${own.map(({ eventId }) => eventId)}::uuid[])`),
    )
    const found = new Map(
      events.map(({ id, ...event }): [string, Pick<OutboxEntry, "type" | "occurredAt">] => [id, event]),
    )
    const uncommitted = new Set(yield* findUncommitted(due.filter(({ eventId }) => !found.has(eventId))))
    if (uncommitted.size > 0) {
      const locations = [...uncommitted].map(({ rowLocation }) => rowLocation)
      yield* executed(sql`
        UPDATE webhook_outbox SET due_at = ${new Date(at.getTime() + UNCOMMITTED_DELAY_MS)}
        WHERE ctid = ANY(${locations}::text[]::tid[])`)
    }
    return due
      .filter((key) => !uncommitted.has(key))
      .map((key): OutboxEntry => ({ ...key, ...(found.get(key.eventId) ?? { type: null, occurredAt: null }) }))
  })

  const findEvents = (keys: ReadonlyArray<OutboxKey>) =>
    inEachOrganization(
      keys,
      (key) => key.organizationId,
      (organizationId, own) =>
        records<StoredEvent>()(
          contents(
            sql,
            sql`events event`,
            sql`event.organization_id = ${organizationId} AND event.id = ANY(${own.map(({ eventId }) => eventId)}::uuid[])
            AND NOT ${sql.literal(isRemoved("event.organization_id"))}`,
          ),
        ),
    )

  return Outbox.of({ ...outbox, findUncommitted, lockDue, findEvents })
})

export const layer = Layer.effect(Outbox, make).pipe(Layer.provide(Outbox.layer))
