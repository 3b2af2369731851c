/** Helpers for tests of the event log: an organization, its log and what tests do to it. */
import { PgClient } from "@effect/sql-pg"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { Checkpoints } from "../../src/domains/audit/Checkpoints.ts"
import { Sealing } from "../../src/domains/audit/Sealing.ts"
import { EventLog, sizeOf } from "../../src/domains/events/log/EventLog.ts"
import { Events } from "../../src/domains/events/Service.ts"
import { logOrigin } from "../../src/domains/signing/VerifierKey.ts"
import { bySystem, platformIdentity } from "../../src/kernel/contract/Caller.ts"
import { Transactions } from "../../src/kernel/database/Transactions.ts"
import { arriving } from "../support/arriving.ts"
import { TestService } from "../support/TestService.ts"

/** An organization of its own, and its event log. */
export const openLog = Effect.gen(function* () {
  const { core, tenant } = yield* TestService
  const sql = yield* PgClient.PgClient
  const events = yield* Events
  const transactions = yield* Transactions
  const checkpoints = yield* Checkpoints
  const sealing = yield* Sealing
  const log = yield* EventLog
  const { organizationId, token } = yield* tenant()
  const source = { ...bySystem, organizationId }
  const get = (path: string) => core("GET", path, { token })
  return {
    sql,
    organizationId,
    token,
    origin: logOrigin(organizationId),
    get,
    post: (path: string, body: object) => core("POST", path, { token, body }),
    emit: (name: string) => transactions.run(events.emit(source, "COMPONENT_CREATED", { name })),
    /** Adds many events at once, at a time. */
    addMany: (count: number, at: Date = new Date()) =>
      arriving(
        sql,
        sql`
          INSERT INTO events (organization_id, id, type, occurred_at, actor, data)
          SELECT ${organizationId}::uuid, gen_random_uuid(), 'COMPONENT_CREATED', ${at}, ${sql.json(platformIdentity)},
            ('{"name":"number ' || number || '"}')::json
          FROM generate_series(1, ${count}::int) AS number`,
      ),
    seal: sealing.seal(organizationId),
    size: Effect.map(log.stream(organizationId), sizeOf),
    checkpoint: checkpoints.current(organizationId),
    stream: log.stream(organizationId),
    /** The text of the newest checkpoint, over HTTP. */
    note: Effect.map(get("/events/checkpoint"), ({ status, text }) => {
      assert.strictEqual(status, 200, text)
      return text
    }),
    /** The public key of the log, in base64url. */
    publicKey: Effect.map(
      sql<{ x: string }>`
        SELECT public_key AS x FROM signing_keys
        WHERE organization_id = ${organizationId} AND purpose = 'audit' AND state = 'CURRENT'`,
      ([row]) => row?.x ?? "",
    ),
    /** The positions of the stored events, in order. */
    positions: Effect.map(
      sql<{ position: number }>`
        SELECT position::int AS position FROM event_positions
        JOIN events ON events.organization_id = event_positions.organization_id AND events.id = event_id
        WHERE events.organization_id = ${organizationId} ORDER BY position`,
      (rows) => rows.map(({ position }) => position),
    ),
    /** The hashes of the leaves, in order. */
    leaves: Effect.map(
      sql<{ hash: Uint8Array }>`
        SELECT leaf AS hash FROM event_positions
        WHERE organization_id = ${organizationId} AND leaf IS NOT NULL ORDER BY position`,
      (rows) => rows.map(({ hash }) => hash),
    ),
  }
})
