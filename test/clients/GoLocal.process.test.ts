/** A product in Go that decides locally, beside the service: its terms change, the service stops, its key is revoked. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { withReason } from "../support/skipped.ts"
import { temporaryDirectory } from "../support/temporaryDirectory.ts"
import { TestService } from "../support/TestService.ts"
import { until as becomes } from "../support/until.ts"
import { goEnvironment, playWell, root, whyNoGo } from "./programs.ts"
import { newInstance, STOPPED } from "./world.ts"

/** How soon a change decides the next check, in milliseconds. */
const SOON = 1_000

/** A product that answers questions until its scope ends, or it is killed. */
const startProduct = (program: string, env: Record<string, string>) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const child = spawn(program, [], {
        env: { PATH: process.env["PATH"] ?? "", ...env },
        stdio: ["pipe", "pipe", "inherit"],
      })
      const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
      const ended = new Promise<void>((done) => child.on("close", () => done()))
      const ask = async (question: string): Promise<unknown> => {
        child.stdin.write(`${question}\n`)
        return JSON.parse(String((await lines.next()).value))
      }
      const end = (signal?: NodeJS.Signals) => {
        if (signal === undefined) child.stdin.end()
        else child.kill(signal)
        return ended
      }
      return { ask, end }
    }),
    ({ end }) => Effect.promise(() => end("SIGKILL")),
  )

/** The stored snapshot. */
const stored = (directory: string): string => {
  const slot = join(directory, "slot-0")
  const names = readdirSync(slot).filter((name) => /^snapshot-[^.]+\.json$/.test(name))
  return names.map((name) => readFileSync(join(slot, name), "utf8")).join("\n")
}

/** Asks until the answer has these properties. Returns the milliseconds that it took. */
const until = async (ask: () => Promise<unknown>, expected: Record<string, unknown>) => {
  const began = performance.now()
  for (;;) {
    const answer = await ask()
    const isIt = Object.entries(expected).every(([name, value]) => (answer as Record<string, unknown>)[name] === value)
    if (isIt) return performance.now() - began
    if (performance.now() - began > 20_000) assert.deepStrictEqual(answer, expected)
  }
}

layer(TestService.separate, { excludeTestServices: true, timeout: 120_000 })("a product in Go", (it) => {
  it.effect.skipIf(whyNoGo !== undefined)(
    withReason("decides by itself, until its key is revoked", whyNoGo),
    () =>
      Effect.gen(function* () {
        const { core, origins } = yield* TestService
        const { environment, owner, productKey, usageOf } = yield* newInstance
        const directory = yield* temporaryDirectory
        const program = join(directory, "local")
        yield* playWell("go", ["build", "-o", program, "./local"], {
          cwd: join(root, "test/clients/go"),
          env: goEnvironment,
        })
        const env = { ...environment, KEYSHELF_URL: origins.core, KEYSHELF_DIRECTORY: join(directory, "state") }
        const product = yield* startProduct(program, env)
        const ask = (question: string) => Effect.promise(() => product.ask(question))

        const granted = { allowed: true, reason: "GRANTED", source: "snapshot", remaining: "" }
        assert.deepStrictEqual(yield* ask("check sso"), granted)
        assert.deepStrictEqual(yield* ask("flag new-search"), { on: true, source: "snapshot" })
        yield* Effect.promise(() => until(() => product.ask("status"), { state: "LIVE", expires: true }))

        // Consumed from a tranche: the next check knows it at once, and the service within 5 s.
        const used = { allowed: true, reason: "GRANTED", source: "snapshot", remaining: "9" }
        assert.deepStrictEqual(yield* ask("consume exports job-1"), used)
        assert.deepInclude(yield* ask("check exports"), { source: "snapshot", remaining: "9" })
        const isCounted = Effect.map(usageOf("exports"), ({ event_count, value }) => value === 1 && event_count === 1)
        yield* becomes("the use is counted", isCounted)

        const put = (value: boolean) => core("PUT", "/licenses/pro/entitlements/sso", { token: owner, body: { value } })
        assert.strictEqual((yield* put(false)).status, 204)
        const denial = yield* Effect.promise(() => until(() => product.ask("check sso"), { reason: "NOT_GRANTED" }))
        assert.isBelow(denial, SOON)
        yield* put(true)
        yield* Effect.promise(() => until(() => product.ask("check sso"), granted))
        // It is stored when it is in force already.
        const isStored = async () => {
          const { etag } = (await product.ask("status")) as { readonly etag: string }
          return { isStored: stored(env.KEYSHELF_DIRECTORY).includes(JSON.stringify(etag)) }
        }
        yield* Effect.promise(() => until(isStored, { isStored: true }))

        // Killed, and started without the service.
        yield* Effect.promise(() => product.end("SIGKILL"))
        const offline = yield* startProduct(program, { ...env, KEYSHELF_URL: STOPPED })
        assert.deepStrictEqual(yield* Effect.promise(() => offline.ask("check sso")), granted)
        assert.deepInclude(yield* Effect.promise(() => offline.ask("consume exports job-2")), {
          allowed: false,
          reason: "SERVICE_AWAY",
        })
        assert.deepInclude(yield* Effect.promise(() => offline.ask("status")), { state: "STALE", expires: true })
        yield* Effect.promise(() => offline.end())

        const again = yield* startProduct(program, env)
        yield* Effect.promise(() => until(() => again.ask("status"), { state: "LIVE" }))
        // The key of before is charged once, also after the process was killed.
        assert.deepInclude(yield* Effect.promise(() => again.ask("consume exports job-1")), {
          allowed: true,
          remaining: "9",
        })
        assert.include(yield* usageOf("exports"), { value: 1, event_count: 1 })
        const revoked = yield* core("DELETE", `/instances/globex-prod/keys/${productKey}`, { token: owner })
        assert.strictEqual(revoked.status, 204)
        yield* Effect.promise(() => until(() => again.ask("check sso"), { reason: "ACCESS_REVOKED" }))
        yield* Effect.promise(() => again.end())
        const later = yield* startProduct(program, { ...env, KEYSHELF_URL: STOPPED })
        const ended = { allowed: false, reason: "ACCESS_REVOKED", source: "service", remaining: "" }
        assert.deepStrictEqual(yield* Effect.promise(() => later.ask("check sso")), ended)
      }).pipe(Effect.scoped),
    240_000,
  )
})
