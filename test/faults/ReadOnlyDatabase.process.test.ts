import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Scope } from "effect"
import { request } from "../support/http.ts"
import type { HttpResponse } from "../support/http.ts"
import { clock, open } from "./support/Installation.ts"
import { isUnavailable, product, reads, usedCalls, writes } from "./support/Product.ts"
import { reasonToSkip, replicas } from "./support/Replicas.ts"

const MAX_RECOVERY_MILLIS = 5_000

/** A node on the primary of two servers, with a product. */
const world = Effect.fnUntraced(function* (options: { readonly synchronous: boolean }) {
  const pair = yield* replicas(options)
  const installation = yield* open({ url: pair.address.url })
  const node = yield* installation.node("one")
  yield* node.start
  const tenant = yield* product(installation, node)
  const sendAll = (requests: typeof writes) =>
    Effect.promise(async () => {
      const sent = Object.entries(requests).map(async ([name, send]) => [name, await send(node, tenant)] as const)
      return Object.fromEntries(await Promise.all(sent))
    })
  const health = (kind: string) => Effect.promise(() => request("GET", `${node.internal}/health/${kind}`))
  return { pair, installation, node, tenant, sendAll, health }
})

type World = Effect.Success<ReturnType<typeof world>>

const statusesOf = (responses: Readonly<Record<string, HttpResponse>>) =>
  Object.fromEntries(Object.entries(responses).map(([name, { status, text }]) => [name, status < 300 ? "ok" : text]))

const all = (requests: typeof writes, is: "ok" | "unavailable") =>
  Object.fromEntries(Object.keys(requests).map((name) => [name, is]))

/** Every write is refused for now, every read is answered, and the process is not ready but alive. */
const assertReadsOnly = Effect.fnUntraced(function* ({ health, sendAll }: World) {
  const began = clock()
  const written = yield* sendAll(writes)
  assert.deepStrictEqual(
    Object.fromEntries(
      Object.entries(written).map(([name, response]) => [
        name,
        isUnavailable(response) ? "unavailable" : response.text,
      ]),
    ),
    all(writes, "unavailable"),
  )
  assert.isBelow(clock() - began, 3_000)
  assert.deepStrictEqual(statusesOf(yield* sendAll(reads)), all(reads, "ok"))
  const ready = yield* health("ready")
  assert.strictEqual(ready.status, 503, ready.text)
  assert.strictEqual(ready.body.parts.database.status, "down")
  assert.include(ready.body.detail, "database")
  assert.strictEqual((yield* health("live")).status, 200)
})

/** Waits until every write succeeds and the process is ready. Returns the milliseconds that took. */
const recovery = Effect.fnUntraced(function* ({ health, sendAll }: World) {
  const began = clock()
  for (;;) {
    const written = statusesOf(yield* sendAll(writes))
    const ready = yield* health("ready")
    const isBack = Object.values(written).every((status) => status === "ok") && ready.status === 200
    if (isBack) return clock() - began
    if (clock() - began > 20_000) return yield* Effect.die(new Error(JSON.stringify({ written, ready: ready.text })))
    yield* Effect.sleep(50)
  }
})

/** Sends every kind of write a few times, so that all connections are open. */
const warmUp = ({ sendAll }: World) => Effect.replicateEffect(sendAll(writes), 4)

/** Waits until the process has noticed that the database cannot write. */
const refusal = Effect.fnUntraced(function* ({ health }: World) {
  const began = clock()
  while ((yield* health("ready")).status === 200) {
    if (clock() - began > 20_000) return yield* Effect.die(new Error("The process is still ready"))
    yield* Effect.sleep(50)
  }
})

/** Waits until every read is answered, by connections to the server to which the address now leads. */
const readsAgain = Effect.fnUntraced(function* ({ sendAll }: World) {
  const began = clock()
  for (;;) {
    const answered = statusesOf(yield* sendAll(reads))
    if (Object.values(answered).every((status) => status === "ok")) return
    if (clock() - began > 20_000) return yield* Effect.die(new Error(JSON.stringify(answered)))
    yield* Effect.sleep(50)
  }
})

/** Runs the fault on a pair of servers, and then expects that the service recovers by itself. */
const recovers = (
  name: string,
  fault: (world: World) => Effect.Effect<void, never, Scope.Scope>,
  options: Parameters<typeof world>[0] = { synchronous: false },
) =>
  it.live(name, (context) =>
    Effect.gen(function* () {
      const reason = yield* reasonToSkip
      if (reason !== undefined) return context.skip(reason)
      const here = yield* world(options)
      yield* warmUp(here)
      yield* fault(here)
      assert.isBelow(yield* recovery(here), MAX_RECOVERY_MILLIS)
    }).pipe(Effect.scoped),
  )

describe("a database that cannot write", { timeout: 180_000 }, () => {
  recovers(
    "refuses writes, answers reads, and recovers by itself when the server is set read-only and back",
    Effect.fnUntraced(function* (here) {
      const { node, pair, tenant } = here
      const before = yield* usedCalls(node, tenant)
      yield* pair.primary.run("ALTER SYSTEM SET default_transaction_read_only = on", "SELECT pg_reload_conf()")
      yield* refusal(here)
      yield* assertReadsOnly(here)
      assert.strictEqual(yield* usedCalls(node, tenant), before)
      yield* pair.primary.run("ALTER SYSTEM RESET default_transaction_read_only", "SELECT pg_reload_conf()")
    }),
  )

  recovers(
    "connections that were opened while new sessions were read-only are replaced",
    Effect.fnUntraced(function* (here) {
      const { installation, pair, sendAll } = here
      const name = new URL(installation.url).pathname.slice(1)
      yield* pair.primary.run(
        `ALTER DATABASE ${name} SET default_transaction_read_only = on`,
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}' AND application_name LIKE 'keyshelf%'`,
      )
      yield* refusal(here)
      yield* assertReadsOnly(here)
      yield* Effect.replicateEffect(sendAll(reads), 4)
      yield* pair.primary.run(`ALTER DATABASE ${name} RESET default_transaction_read_only`)
    }),
  )

  recovers(
    "a standby behind the address answers reads, and writes once it is promoted",
    Effect.fnUntraced(function* (here) {
      const { pair } = here
      yield* pair.moveAddress
      yield* pair.primary.crash
      yield* readsAgain(here)
      yield* assertReadsOnly(here)
      yield* pair.promote
    }),
  )

  recovers(
    "connections to a former primary that is still running and read-only are replaced",
    Effect.fnUntraced(function* (here) {
      const { pair } = here
      yield* pair.primary.run("ALTER SYSTEM SET default_transaction_read_only = on", "SELECT pg_reload_conf()")
      yield* refusal(here)
      yield* assertReadsOnly(here)
      yield* pair.promote
      yield* pair.moveAddress
    }),
  )

  recovers(
    "connections to a former primary whose commits wait for its lost standby are closed",
    Effect.fnUntraced(function* (here) {
      const { node, pair, tenant } = here
      yield* pair.promote
      // Every connection that writes waits now.
      const waiting = Object.values(writes).map((send) => send(node, tenant))
      yield* pair.moveAddress
      for (const answer of yield* Effect.promise(() => Promise.all(waiting))) {
        assert.isTrue(answer.status < 300 || isUnavailable(answer), answer.text)
      }
    }),
    { synchronous: true },
  )
})
