/** Clients that write, and their log of the responses. */
import type { PgClient } from "@effect/sql-pg"
import { Effect } from "effect"
import { randomUUID } from "node:crypto"
import { notifyNodes } from "./bulk.ts"
import type { Write } from "./Evidence.ts"
import { clock } from "./Installation.ts"
import type { AnyNode, Installation, Tenant } from "./Installation.ts"
import type { Random } from "./Random.ts"

// Maximum number of open writes, more than a short outage causes. Beyond it, writes are skipped.
const MAX_WAITING = 200
const TIMEOUT_MILLIS = 40_000

/** Running clients. */
export interface Load {
  readonly writes: ReadonlyArray<Write>
  /** Stops writing and waits for all responses. */
  readonly stop: Effect.Effect<void>
}

const outcomeOf = (status: number): Write["outcome"] =>
  status < 300 ? "ok" : status < 500 && status !== 408 ? "rejected" : "unknown"

// Writes an event and rolls it back. It must never be delivered.
const rolledBack = (sql: PgClient.PgClient, { organizationId }: Tenant, marker: string) =>
  sql
    .withTransaction(
      Effect.gen(function* () {
        const id = randomUUID()
        const at = new Date()
        yield* sql`
          INSERT INTO events (organization_id, id, type, occurred_at, actor, data)
          VALUES (${organizationId}, ${id}, 'CUSTOMER_CREATION', ${at}, ${sql.json({ id, name: "load" })},
            ${sql.json({ id, name: marker })})`
        yield* sql`
          INSERT INTO webhook_outbox (organization_id, event_id, due_at) VALUES (${organizationId}, ${id}, ${at})`
        yield* notifyNodes({ sql })
        return yield* Effect.fail("rolled back" as const)
      }),
    )
    // If the connection is lost, the rollback cannot be sent, which the client reports as a defect.
    .pipe(Effect.ignoreCause)

/** Writes customers and components at a constant rate until stopped, including rejected and rolled-back writes. */
export const begin = Effect.fnUntraced(function* (options: {
  readonly installation: Installation
  readonly nodes: ReadonlyArray<AnyNode>
  readonly tenants: readonly [Tenant, ...ReadonlyArray<Tenant>]
  readonly perSecond: number
  readonly random: Random
}) {
  const { installation, nodes, perSecond, random, tenants } = options
  const writes: Array<Write> = []
  const waiting = new Set<Promise<void>>()

  const post = async (node: AnyNode, tenant: Tenant, path: string, body: object, write: Write) => {
    const began = performance.now()
    try {
      const response = await fetch(`${node.core}/api${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${tenant.token}`, "content-type": "application/json" },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(TIMEOUT_MILLIS),
      })
      await response.text()
      write.outcome = outcomeOf(response.status)
    } catch {
      write.outcome = "unknown"
    }
    write.millis = performance.now() - began
  }

  const writeOne = (number: number): Promise<void> => {
    const tenant = random.pick(tenants)
    const up = nodes.filter((node) => node.isReady())
    const node = up[Math.floor(random.next() * up.length)]
    const kind = random.next()
    const marker = `write-${number}`
    const write: Write = {
      marker,
      organizationId: tenant.organizationId,
      at: clock(),
      outcome: "unknown",
      millis: 0,
    }
    if (kind > 0.97) {
      writes.push({ ...write, outcome: "rolled back" })
      return Effect.runPromise(rolledBack(installation.sql, tenant, marker))
    }
    if (node === undefined) return Promise.resolve()
    writes.push(write)
    if (kind > 0.94) return post(node, tenant, "/customers", { name: marker, slug: "taken" }, write)
    if (kind > 0.6) return post(node, tenant, "/components", { name: marker, version: "1" }, write)
    return post(node, tenant, "/customers", { name: marker }, write)
  }

  for (const { token } of tenants) {
    const node = nodes.find(({ isReady }) => isReady())
    yield* Effect.promise(() =>
      fetch(`${node?.core}/api/customers`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: JSON.stringify({ name: "Taken", slug: "taken" }),
      }).then((response) => response.text()),
    )
  }

  const began = performance.now()
  let number = 0
  const timer = setInterval(() => {
    // Catches up if the timer was late, so that the rate stays constant.
    const due = Math.floor(((performance.now() - began) / 1000) * perSecond)
    for (; number < due; number++) {
      if (waiting.size >= MAX_WAITING) continue
      const pending = writeOne(number)
      waiting.add(pending)
      void pending.finally(() => waiting.delete(pending))
    }
  }, 1000 / perSecond)
  yield* Effect.addFinalizer(() => Effect.sync(() => clearInterval(timer)))

  const load: Load = {
    writes,
    stop: Effect.promise(async () => {
      clearInterval(timer)
      await Promise.all(waiting)
    }),
  }
  return load
})
