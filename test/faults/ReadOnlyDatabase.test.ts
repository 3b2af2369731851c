import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
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

describe("a database that cannot write", { timeout: 180_000 }, () => {
  it.live(
    "refuses writes, answers reads, and recovers by itself when the server is set read-only and back",
    (context) =>
      Effect.gen(function* () {
        const reason = yield* reasonToSkip
        if (reason !== undefined) return context.skip(reason)
        const here = yield* world({ synchronous: false })
        const { node, pair, tenant } = here
        yield* warmUp(here)
        const before = yield* usedCalls(node, tenant)
        yield* pair.primary.run("ALTER SYSTEM SET default_transaction_read_only = on", "SELECT pg_reload_conf()")
        yield* Effect.sleep(300)
        yield* assertReadsOnly(here)
        assert.strictEqual(yield* usedCalls(node, tenant), before)
        yield* pair.primary.run("ALTER SYSTEM RESET default_transaction_read_only", "SELECT pg_reload_conf()")
        const took = yield* recovery(here)
        assert.isBelow(took, MAX_RECOVERY_MILLIS)
      }).pipe(Effect.scoped),
  )

  it.live("connections that were opened while new sessions were read-only are replaced", (context) =>
    Effect.gen(function* () {
      const reason = yield* reasonToSkip
      if (reason !== undefined) return context.skip(reason)
      const here = yield* world({ synchronous: false })
      const { installation, pair } = here
      const name = new URL(installation.url).pathname.slice(1)
      yield* warmUp(here)
      yield* pair.primary.run(
        `ALTER DATABASE ${name} SET default_transaction_read_only = on`,
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}' AND application_name LIKE 'keyshelf%'`,
      )
      yield* Effect.sleep(500)
      yield* assertReadsOnly(here)
      yield* Effect.replicateEffect(here.sendAll(reads), 4)
      yield* pair.primary.run(`ALTER DATABASE ${name} RESET default_transaction_read_only`)
      const took = yield* recovery(here)
      assert.isBelow(took, MAX_RECOVERY_MILLIS)
    }).pipe(Effect.scoped),
  )

  it.live("a standby behind the address answers reads, and writes once it is promoted", (context) =>
    Effect.gen(function* () {
      const reason = yield* reasonToSkip
      if (reason !== undefined) return context.skip(reason)
      const here = yield* world({ synchronous: false })
      const { pair } = here
      yield* warmUp(here)
      yield* pair.moveAddress
      yield* pair.primary.crash
      yield* Effect.sleep(1_000)
      yield* assertReadsOnly(here)
      yield* pair.promote
      const took = yield* recovery(here)
      assert.isBelow(took, MAX_RECOVERY_MILLIS)
    }).pipe(Effect.scoped),
  )

  it.live("connections to a former primary that is still running and read-only are replaced", (context) =>
    Effect.gen(function* () {
      const reason = yield* reasonToSkip
      if (reason !== undefined) return context.skip(reason)
      const here = yield* world({ synchronous: false })
      const { pair } = here
      yield* warmUp(here)
      yield* pair.primary.run("ALTER SYSTEM SET default_transaction_read_only = on", "SELECT pg_reload_conf()")
      yield* Effect.sleep(300)
      yield* assertReadsOnly(here)
      yield* pair.promote
      yield* pair.moveAddress
      const took = yield* recovery(here)
      assert.isBelow(took, MAX_RECOVERY_MILLIS)
    }).pipe(Effect.scoped),
  )
})
