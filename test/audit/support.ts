/** Helpers for tests of the event log: an organization, its log and what tests do to it. */
import { PgClient } from "@effect/sql-pg"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { Checkpoints } from "../../src/domains/audit/Checkpoints.ts"
import { AuditRepo } from "../../src/domains/audit/Repo.ts"
import { Sealing } from "../../src/domains/audit/Sealing.ts"
import { EventLog } from "../../src/domains/events/log/EventLog.ts"
import { Events } from "../../src/domains/events/Service.ts"
import { logOrigin } from "../../src/domains/signing/VerifierKey.ts"
import { platformIdentity } from "../../src/kernel/contract/Caller.ts"
import { Transactions } from "../../src/kernel/database/Transactions.ts"
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
  const repo = yield* AuditRepo
  const { organizationId, token } = yield* tenant()
  const source = { organizationId, actor: platformIdentity }
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
    addMany: (count: number, at: Date = new Date()) => sql`
      INSERT INTO events (organization_id, id, type, occurred_at, actor, data)
      SELECT ${organizationId}::uuid, gen_random_uuid(), 'COMPONENT_CREATED', ${at}, ${sql.json(platformIdentity)},
        ('{"name":"number ' || number || '"}')::json
      FROM generate_series(1, ${count}::int) AS number`,
    seal: sealing.seal(organizationId),
    size: repo.size(organizationId),
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
        SELECT position::int AS position FROM events
        WHERE organization_id = ${organizationId} AND position IS NOT NULL ORDER BY position`,
      (rows) => rows.map(({ position }) => position),
    ),
    /** The hashes of the leaves, in order. */
    leaves: Effect.map(
      sql<{ hash: Uint8Array }>`
        SELECT hash FROM event_hashes WHERE organization_id = ${organizationId} AND level = 0 ORDER BY index`,
      (rows) => rows.map(({ hash }) => hash),
    ),
  }
})
