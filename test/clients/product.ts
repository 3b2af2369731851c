/** What must hold for the product of a language, whatever its network does. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { join } from "node:path"
import { temporaryDirectory } from "../support/temporaryDirectory.ts"
import { TestService } from "../support/TestService.ts"
import { dropEachThird, newInstance, STOPPED } from "./world.ts"

/** Runs the product with an argument and an environment, and returns what it printed. */
export type Product = (mode: "use" | "away", env: Record<string, string>) => Effect.Effect<string>

/** Runs the example with arguments and an environment, and returns what it printed. */
export type Example = (args: ReadonlyArray<string>, env: Record<string, string>) => Effect.Effect<string>

const seen = {
  apiCalls: 12,
  exports: 10,
  seats: [true, "AcquireLease.LimitReached", "ben"],
  flags: [true, true],
  bundle: "VALID",
  offline: ["GRANTED", "LIMIT_REACHED"],
}

/** Plays a product that first finds the service stopped, and then uses it at an address. */
const playAt = Effect.fnUntraced(function* (product: Product, url: string) {
  const { environment, usageOf } = yield* newInstance
  const env = { ...environment, KEYSHELF_BUFFER: join(yield* temporaryDirectory, "usage.jsonl") }
  const away = JSON.parse(yield* product("away", { ...env, KEYSHELF_URL: STOPPED }))
  assert.deepStrictEqual(away, { fail: "away", open: true, closed: false, flush: "away", waiting: 5 })
  const used = JSON.parse(yield* product("use", { ...env, KEYSHELF_URL: url }))
  // The five reports of the stopped service are there, and each report has one result.
  assert.deepStrictEqual(used, { ...seen, waiting: 5, settled: 205 })
  assert.include(yield* usageOf("api-calls"), { value: 12, event_count: 12 })
  assert.include(yield* usageOf("exports"), { value: 10, event_count: 10 })
  // 205 reports of 0.5 from the buffer, five direct ones of 2.
  assert.include(yield* usageOf("rows"), { value: 112.5, event_count: 210 })
})

/** A stopped service, and then the service itself. */
export const playDirectly = Effect.fnUntraced(function* (product: Product) {
  const { origins } = yield* TestService
  yield* playAt(product, origins.core)
})

/** A stopped service, and then one that drops each third response. */
export const playThroughDrops = Effect.fnUntraced(function* (product: Product) {
  const { origins } = yield* TestService
  const proxy = yield* dropEachThird(origins.core)
  yield* playAt(product, proxy.url)
  assert.isAbove(proxy.dropped(), 20)
})

/**
 * Plays the example of a language twice: the second time its jobs are charged and its rows counted already. A ledger answers a repeated
 * key with what is left now.
 */
export const playExample = Effect.fnUntraced(function* (example: Example) {
  const { origins } = yield* TestService
  const { environment, usageOf } = yield* newInstance
  const directory = yield* temporaryDirectory
  const files = { KEYSHELF_BUFFER: join(directory, "usage.jsonl"), KEYSHELF_DIRECTORY: join(directory, "state") }
  const env = { ...environment, ...files, KEYSHELF_URL: origins.core }
  const lines = ["sign-in: single sign-on", "search: new", "job-1: exported, 9 left", "job-2: exported, 8 left"]
  const jobs = ["anna", "job-1", "job-2"]
  assert.deepStrictEqual((yield* example(jobs, env)).trim().split("\n"), [...lines, "reported: 2 new, 0 rejected"])
  const again = lines.map((line) => line.replace("9 left", "8 left"))
  assert.deepStrictEqual((yield* example(jobs, env)).trim().split("\n"), [...again, "reported: 0 new, 0 rejected"])
  assert.include(yield* usageOf("exports"), { value: 2, event_count: 2 })
  assert.include(yield* usageOf("rows"), { value: 500, event_count: 2 })
})
