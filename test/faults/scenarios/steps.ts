/**
 * Fault: `kill -9` at each step of a delivery, and a node suspended beyond its lease. Receiver and locks fix the exact
 * step.
 */
import type { PgClient } from "@effect/sql-pg"
import { Effect } from "effect"
import { DAYS_AHEAD } from "../../../src/domains/webhooks/history/Partitions.ts"
import type { Invariant, Violation } from "../support/Checker.ts"
import { call, clock, endpoint, open, tenant, until } from "../support/Installation.ts"
import type { Crash } from "../support/Installation.ts"
import * as Receivers from "../support/Receiver.ts"
import { waitUntilDrained, checkEvidence, leaseOf } from "../support/World.ts"
import type { ScenarioOptions, Verdict } from "../support/World.ts"

/** Maximum time until a process detects that another has died, and takes over its deliveries. */
const MAX_TAKEOVER_MILLIS = 10_000
/** Maximum age of a node's claim when the node is suspended. */
const MAX_CLAIM_AGE_MILLIS = 5_000

const DISPATCHER = { SERVICE_ROLES: "internal,dispatcher" }

// Waits until a statement with each of these texts waits for a lock. Logs the database's activity if that never
// happens.
const waiting = (sql: PgClient.PgClient, ...texts: ReadonlyArray<string>) => {
  const activity = Effect.orDie(sql<{ query: string; awaited: string | null; state: string | null }>`
    SELECT query, wait_event_type AS awaited, state FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()`)
  return until(`statements wait for a lock: ${texts.join(" and ")}`, async () => {
    const rows = await Effect.runPromise(activity)
    return texts.every((text) => rows.some(({ awaited, query }) => awaited === "Lock" && query.includes(text)))
  }).pipe(Effect.tapDefect(() => Effect.flatMap(activity, (rows) => Effect.logError("Database activity", rows))))
}

/** Interrupts deliveries at fan-out, claim, connection, exchange and completion. */
export const steps = Effect.fnUntraced(function* (setting: ScenarioOptions) {
  const installation = yield* open(setting.server, setting.limits)
  const { sql } = installation
  const receiver = yield* Receivers.start
  const clerk = yield* installation.node("clerk", { SERVICE_ROLES: "core,platform,internal" })
  const sleeper = yield* installation.node("sleeper", DISPATCHER)
  const victim = yield* installation.node("victim", DISPATCHER)
  const heir = yield* installation.node("heir", DISPATCHER)
  yield* clerk.start
  const acme = yield* tenant(installation, clerk, "Acme")
  const createEndpoint = (
    key: string,
    options: { readonly url?: string; readonly eventNames?: ReadonlyArray<string> } = {},
  ) => endpoint(clerk, acme, receiver, { key, eventNames: ["LICENSE_ARCHIVED"], ...options })
  const endpoints = {
    fanOut: yield* createEndpoint("fanOut", { eventNames: ["COMPONENT_CREATED"] }),
    claim: yield* createEndpoint("claim"),
    connect: yield* createEndpoint("connect", { url: receiver.muteUrl }),
    send: yield* createEndpoint("send"),
    finish: yield* createEndpoint("finish"),
    still: yield* createEndpoint("still"),
    late: yield* createEndpoint("late"),
  }
  const keys = Object.keys(endpoints) as ReadonlyArray<keyof typeof endpoints>
  // A test event goes directly into the queue of one endpoint.
  const emitTest = (key: keyof typeof endpoints) =>
    call("POST", `${clerk.core}/api/webhooks/${endpoints[key].id}/test`, acme.token)
  const received = (key: keyof typeof endpoints, count: number, limitMillis?: number) =>
    until(`${key} has received ${count} requests`, () => receiver.of(key).length >= count, limitMillis)

  yield* receiver.behave("still", { kind: "hold" })
  yield* sleeper.start
  yield* emitTest("still")
  yield* received("still", 1)
  // A node suspended while it creates partitions would block all others.
  yield* until("all partitions of the history exist", async () => {
    const days = await Effect.runPromise(
      Effect.orDie(sql`SELECT 1 FROM pg_inherits WHERE inhparent = 'webhook_attempts'::regclass`),
    )
    return days.length > DAYS_AHEAD
  })
  // Suspends the node after it has claimed a second delivery and before it has read it.
  const stopped = yield* Effect.orDie(
    sql.withTransaction(
      Effect.gen(function* () {
        yield* sql`LOCK TABLE webhook_secrets IN ACCESS EXCLUSIVE MODE`
        yield* emitTest("late")
        yield* waiting(sql, "SELECT claimed.lease")
        return yield* sleeper.freeze
      }),
    ),
  )

  // Kills the victim while its fan-out and its claim are both blocked.
  yield* emitTest("claim")
  yield* call("POST", `${clerk.core}/api/components`, acme.token, { name: "part", version: "1" })
  yield* Effect.orDie(
    sql.withTransaction(
      Effect.gen(function* () {
        yield* sql`LOCK TABLE webhook_queue IN SHARE MODE`
        yield* victim.start
        yield* waiting(sql, "INSERT INTO webhook_queue", "lane AS MATERIALIZED")
        yield* victim.kill
      }),
    ),
  )
  const unlockedAt = clock()
  yield* victim.start
  yield* received("claim", 1)
  yield* received("fanOut", 1)
  const unclaimedMillis = Math.round(clock() - unlockedAt)
  const areResultsStored = yield* waitUntilDrained(installation, [endpoints.claim, endpoints.fanOut], 10_000)

  yield* receiver.behave("send", { kind: "hold" })
  yield* receiver.behave("finish", { kind: "hold" })
  for (const key of ["connect", "send"] as const) yield* emitTest(key)
  yield* received("send", 1)
  yield* until("the connection is open", () => receiver.connections.length > 0)
  yield* emitTest("finish")
  yield* received("finish", 1)
  const killed: Crash = yield* Effect.orDie(
    sql.withTransaction(
      Effect.gen(function* () {
        yield* sql`SELECT 1 FROM webhook_queue WHERE endpoint_id = ${endpoints.finish.id} FOR UPDATE`
        receiver.release("finish", 200)
        // Beginning of the statement that completes attempts; pg_stat_activity shows its first kilobyte.
        yield* waiting(sql, "WITH made AS MATERIALIZED")
        return yield* victim.kill
      }),
    ),
  )

  for (const key of ["send", "finish", "still"]) yield* receiver.behave(key, { kind: "respond", statuses: [200] })
  yield* call("PUT", `${clerk.core}/api/webhooks/${endpoints.connect.id}`, acme.token, {
    url: receiver.url("connect"),
  })
  yield* heir.start
  const heirStarted = clock()
  const limit = leaseOf(setting) + 15_000
  yield* received("connect", 1, limit)
  yield* received("late", 1, limit)
  for (const key of ["send", "still"] as const) yield* received(key, 2, limit)
  yield* waitUntilDrained(installation, Object.values(endpoints), 10_000)

  // The sleeper resumes after its lease has expired.
  receiver.release("still", 200)
  yield* sleeper.thaw
  yield* until("the sleeper has recorded its attempt", async () => {
    const rows = await Effect.runPromise(
      Effect.orDie(sql`SELECT 1 FROM webhook_attempts WHERE endpoint_id = ${endpoints.still.id}`),
    )
    return rows.length >= 2
  })
  yield* Effect.sleep(1500)

  const { evidence, verdict } = yield* checkEvidence(
    { endpoints: Object.values(endpoints), installation, nodes: [clerk, heir], receiver, tenants: [acme] },
    [],
  )
  const violations: Array<Violation> = [...verdict.violations]
  const expectEqual = (invariant: Invariant, what: string, found: unknown, expected: unknown) => {
    if (found !== expected) {
      violations.push({ invariant, detail: `${what}: expected ${String(expected)}, found ${String(found)}` })
    }
  }
  expectEqual("I1", "results stored before the next kill", areResultsStored, true)
  const isCluster = (setting.server.cluster?.length ?? 1) > 1
  const expected = {
    fanOut: [1, 1],
    claim: [1, 1],
    connect: [1, 1],
    send: [2, 1],
    // PostgreSQL executes a statement that it has received, even if the client has died. On Citus, outcomes take a transaction of
    // several, which is rolled back: the delivery is repeated.
    finish: isCluster ? [2, 1] : [1, 1],
    still: [2, 2],
    late: [1, 1],
  } as const
  for (const key of keys) {
    const [requests, recorded] = expected[key]
    const attempts = evidence.history.filter(({ endpointId }) => endpointId === endpoints[key].id)
    expectEqual("I8", `requests of ${key}`, receiver.of(key).length, requests)
    expectEqual("I9", `attempts of ${key}`, attempts.length, recorded)
    expectEqual("I9", `ids of ${key}`, new Set(receiver.of(key).map(({ headers }) => headers["webhook-id"])).size, 1)
    expectEqual("I3", `numbers of ${key}`, attempts.map(({ attempt }) => attempt).join(), recorded === 2 ? "1,1" : "1")
    expectEqual(
      "I1",
      `${key} succeeded`,
      attempts.some(({ state }) => state === "Success"),
      true,
    )
  }
  const [remaining] = yield* Effect.orDie(sql<{ count: number }>`SELECT count(*)::int AS count FROM webhook_queue`)
  expectEqual("I1", "deliveries in the queue at the end", remaining?.count, 0)
  const after = (key: "connect" | "send" | "still", crash: Crash) =>
    Math.round((receiver.of(key).at(-1)?.at ?? Infinity) - crash.at)
  const repeated = { send: after("send", killed), connect: after("connect", killed) }
  // No node could detect the death before the heir started.
  const takeoverLimit = Math.round(heirStarted - killed.at) + MAX_TAKEOVER_MILLIS
  for (const [key, millis] of Object.entries(repeated)) {
    if (millis > takeoverLimit) {
      violations.push({
        invariant: "I1",
        detail: `the delivery to ${key} was repeated only ${millis} ms after its node was killed`,
      })
    }
  }
  const afterSuspension = after("still", stopped)
  if (afterSuspension > leaseOf(setting) + 2_000) {
    violations.push({
      invariant: "I1",
      detail: `the delivery to still was repeated only ${afterSuspension} ms after its node was suspended`,
    })
  }
  if (afterSuspension < leaseOf(setting) - MAX_CLAIM_AGE_MILLIS) {
    violations.push({
      invariant: "I8",
      detail: `the delivery to still was taken over from a live node after ${afterSuspension} ms`,
    })
  }
  const result: Verdict = {
    figures: {
      "unclaimed ms": unclaimedMillis,
      "repeated after send ms": repeated.send,
      "repeated after connect ms": repeated.connect,
      "repeated after suspension ms": afterSuspension,
      requests: receiver.arrivals.length,
      recorded: evidence.history.length,
    },
    violations,
  }
  return result
})
