/** `kill -9` at each step of a delivery, and a node that stands still past its lease. The receiver and locks make it exact. */
import type { PgClient } from "@effect/sql-pg"
import { Effect } from "effect"
import { DAYS_AHEAD } from "../../../src/domains/webhooks/history/Partitions.ts"
import type { Invariant, Violation } from "../support/Checker.ts"
import { call, clock, endpoint, open, tenant, until } from "../support/Installation.ts"
import type { Crash } from "../support/Installation.ts"
import * as Receivers from "../support/Receiver.ts"
import { drained, judged, leaseOf } from "../support/World.ts"
import type { Setting, Verdict } from "../support/World.ts"

/** How soon a process sees that another is gone, and makes its deliveries. */
const GIVEN_BACK_MILLIS = 10_000
/** How long before it was stopped a node made its claim at most. */
const CLAIMED_BEFORE_MILLIS = 5_000

const DISPATCHER = { SERVICE_ROLES: "internal,dispatcher" }

// Waits until statements with these words wait for a lock, each of them. Dies with what the database does instead.
const waiting = (sql: PgClient.PgClient, ...words: ReadonlyArray<string>) => {
  const activity = Effect.orDie(sql<{ query: string; awaited: string | null; state: string | null }>`
    SELECT query, wait_event_type AS awaited, state FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()`)
  return until(`statements wait: ${words.join(" and ")}`, async () => {
    const rows = await Effect.runPromise(activity)
    return words.every((word) => rows.some(({ awaited, query }) => awaited === "Lock" && query.includes(word)))
  }).pipe(Effect.tapDefect(() => Effect.flatMap(activity, (rows) => Effect.logError("The database does this", rows))))
}

/** Breaks a delivery at its fan-out, claim, connection, exchange and finish. */
export const steps = Effect.fnUntraced(function* (setting: Setting) {
  const installation = yield* open(setting.server, setting.limits)
  const { sql } = installation
  const receiver = yield* Receivers.start
  const clerk = yield* installation.node("clerk", { SERVICE_ROLES: "core,platform,internal" })
  const sleeper = yield* installation.node("sleeper", DISPATCHER)
  const victim = yield* installation.node("victim", DISPATCHER)
  const heir = yield* installation.node("heir", DISPATCHER)
  yield* clerk.start
  const acme = yield* tenant(installation, clerk, "Acme")
  const made = (key: string, options: { readonly url?: string; readonly eventNames?: ReadonlyArray<string> } = {}) =>
    endpoint(clerk, acme, receiver, { key, eventNames: ["LICENSE_ARCHIVED"], ...options })
  const endpoints = {
    fanOut: yield* made("fanOut", { eventNames: ["COMPONENT_CREATED"] }),
    claim: yield* made("claim"),
    connect: yield* made("connect", { url: receiver.muteUrl }),
    send: yield* made("send"),
    finish: yield* made("finish"),
    still: yield* made("still"),
    late: yield* made("late"),
  }
  const keys = Object.keys(endpoints) as ReadonlyArray<keyof typeof endpoints>
  // A test event goes to its endpoint alone, and straight into the queue.
  const owe = (key: keyof typeof endpoints) =>
    call("POST", `${clerk.core}/api/webhooks/${endpoints[key].id}/test`, acme.token)
  const came = (key: keyof typeof endpoints, count: number, limitMillis?: number) =>
    until(`${count} requests came to ${key}`, () => receiver.of(key).length >= count, limitMillis)

  yield* receiver.behave("still", { kind: "hold" })
  yield* sleeper.start
  yield* owe("still")
  yield* came("still", 1)
  // All others would wait for one that stood still while it makes these.
  yield* until("the history has its partitions", async () => {
    const days = await Effect.runPromise(
      Effect.orDie(sql`SELECT 1 FROM pg_inherits WHERE inhparent = 'webhook_attempts'::regclass`),
    )
    return days.length > DAYS_AHEAD
  })
  // Of a second delivery it has the claim, and learns only when it wakes what it is about.
  const stopped = yield* Effect.orDie(
    sql.withTransaction(
      Effect.gen(function* () {
        yield* sql`LOCK TABLE webhook_secrets IN ACCESS EXCLUSIVE MODE`
        yield* owe("late")
        yield* waiting(sql, "SELECT claimed.lease")
        return yield* sleeper.freeze
      }),
    ),
  )

  // Both transactions of the victim are under way, and neither can end.
  yield* owe("claim")
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
  const openAgain = clock()
  yield* victim.start
  yield* came("claim", 1)
  yield* came("fanOut", 1)
  const unclaimedMillis = Math.round(clock() - openAgain)
  const areEndsStored = yield* drained(installation, [endpoints.claim, endpoints.fanOut], 10_000)

  yield* receiver.behave("send", { kind: "hold" })
  yield* receiver.behave("finish", { kind: "hold" })
  for (const key of ["connect", "send"] as const) yield* owe(key)
  yield* came("send", 1)
  yield* until("the connection is open", () => receiver.connections.length > 0)
  yield* owe("finish")
  yield* came("finish", 1)
  const killed: Crash = yield* Effect.orDie(
    sql.withTransaction(
      Effect.gen(function* () {
        yield* sql`SELECT 1 FROM webhook_queue WHERE endpoint_id = ${endpoints.finish.id} FOR UPDATE`
        receiver.release("finish", 200)
        // The statement that ends attempts; the database shows the first kilobyte of it.
        yield* waiting(sql, "WITH made AS MATERIALIZED")
        return yield* victim.kill
      }),
    ),
  )

  for (const key of ["send", "finish", "still"]) yield* receiver.behave(key, { kind: "answer", statuses: [200] })
  yield* call("PUT", `${clerk.core}/api/webhooks/${endpoints.connect.id}`, acme.token, {
    url: receiver.url("connect"),
  })
  yield* heir.start
  const heirStarted = clock()
  const limit = leaseOf(setting) + 15_000
  yield* came("connect", 1, limit)
  yield* came("late", 1, limit)
  for (const key of ["send", "still"] as const) yield* came(key, 2, limit)
  yield* drained(installation, Object.values(endpoints), 10_000)

  // Whatever the sleeper believes now, its lease is lost.
  receiver.release("still", 200)
  yield* sleeper.thaw
  yield* until("the sleeper has told of its attempt", async () => {
    const rows = await Effect.runPromise(
      Effect.orDie(sql`SELECT 1 FROM webhook_attempts WHERE endpoint_id = ${endpoints.still.id}`),
    )
    return rows.length >= 2
  })
  yield* Effect.sleep(1500)

  const { evidence, verdict } = yield* judged(
    { endpoints: Object.values(endpoints), installation, nodes: [clerk, heir], receiver, tenants: [acme] },
    [],
  )
  const violations: Array<Violation> = [...verdict.violations]
  const due = (invariant: Invariant, what: string, found: unknown, expected: unknown) => {
    if (found !== expected) {
      violations.push({ invariant, detail: `${what}: ${String(found)} instead of ${String(expected)}` })
    }
  }
  due("I1", "ends stored before the next kill", areEndsStored, true)
  const expected = {
    fanOut: [1, 1],
    claim: [1, 1],
    connect: [1, 1],
    send: [2, 1],
    // The database carries out what was sent to it, although who sent it is gone.
    finish: [1, 1],
    still: [2, 2],
    late: [1, 1],
  } as const
  for (const key of keys) {
    const [requests, recorded] = expected[key]
    const attempts = evidence.history.filter(({ endpointId }) => endpointId === endpoints[key].id)
    due("I8", `requests of ${key}`, receiver.of(key).length, requests)
    due("I9", `attempts of ${key}`, attempts.length, recorded)
    due("I9", `ids of ${key}`, new Set(receiver.of(key).map(({ headers }) => headers["webhook-id"])).size, 1)
    due("I3", `numbers of ${key}`, attempts.map(({ attempt }) => attempt).join(), recorded === 2 ? "1,1" : "1")
    due(
      "I1",
      `${key} succeeded`,
      attempts.some(({ state }) => state === "Success"),
      true,
    )
  }
  const [left] = yield* Effect.orDie(sql<{ count: number }>`SELECT count(*)::int AS count FROM webhook_queue`)
  due("I1", "deliveries in the queue at the end", left?.count, 0)
  const after = (key: "connect" | "send" | "still", crash: Crash) =>
    Math.round((receiver.of(key).at(-1)?.at ?? Infinity) - crash.at)
  const again = { send: after("send", killed), connect: after("connect", killed) }
  // Nobody who could see that it was gone was there before.
  const seenGone = Math.round(heirStarted - killed.at) + GIVEN_BACK_MILLIS
  for (const [key, millis] of Object.entries(again)) {
    if (millis > seenGone) {
      violations.push({ invariant: "I1", detail: `${key} came again only ${millis} ms after its node was killed` })
    }
  }
  const afterStandstill = after("still", stopped)
  if (afterStandstill > leaseOf(setting) + 2_000) {
    violations.push({
      invariant: "I1",
      detail: `still came again only ${afterStandstill} ms after its node stood still`,
    })
  }
  if (afterStandstill < leaseOf(setting) - CLAIMED_BEFORE_MILLIS) {
    violations.push({ invariant: "I8", detail: `still was taken from a living node after ${afterStandstill} ms` })
  }
  const result: Verdict = {
    figures: {
      "unclaimed ms": unclaimedMillis,
      "again after send ms": again.send,
      "after connect ms": again.connect,
      "after standstill ms": afterStandstill,
      requests: receiver.arrivals.length,
      recorded: evidence.history.length,
    },
    violations,
  }
  return result
})
