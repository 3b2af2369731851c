/** Finds events in a database that differ from the documented payloads. */
import { PgClient } from "@effect/sql-pg"
import { Effect } from "effect"
import { eventValidator } from "./eventSchemas.ts"
import { originOf } from "./recorded.ts"
import type { Recorded } from "./recorded.ts"

// Some tests emit many thousands of the same kind.
const MAX_PER_TYPE = 2_000
const MAX_ERRORS = 5

/** Returns the errors of the events in a database, at most a few. */
export const findInvalidEvents = Effect.fnUntraced(function* (recorded: Recorded) {
  const sql = yield* PgClient.PgClient
  // Where files invent events, organizations that no known test created may be theirs.
  const truthful = [...recorded.organizations].flatMap(([id, { file }]) => (recorded.inventing.has(file) ? [] : [id]))
  const rows = yield* sql<{ event: string; organizationId: string; previous: string | null }>`
    SELECT previous::text AS previous, organization_id AS "organizationId", json_build_object(
      'id', id, 'type', type, 'organizationId', organization_id, 'actor', actor - 'credential',
      'credential', actor->'credential', 'data', data,
      'timestamp', to_char(occurred_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
    )::text AS event
    FROM (SELECT *, row_number() OVER (PARTITION BY type) AS number FROM events
          WHERE ${recorded.inventing.size === 0} OR organization_id = ANY(${truthful}::uuid[])) AS numbered
    WHERE number <= ${MAX_PER_TYPE}`
  if (rows.length === 0) return []
  const errorsOf = eventValidator()
  const errors = rows.flatMap(({ event, organizationId, previous }) =>
    errorsOf({ ...JSON.parse(event), ...(previous === null ? {} : { previous: JSON.parse(previous) }) }).map(
      (error) => error + originOf(recorded, organizationId),
    ),
  )
  return [...new Set(errors)].slice(0, MAX_ERRORS)
})
