/** The vectors of states in a browser: the same client under the same script, with the cryptography of Chromium. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { bundleIn, startPage } from "../client/page.ts"
import * as Browser from "../support/Browser.ts"
import { temporaryDirectory } from "../support/temporaryDirectory.ts"
import type { StateVectors } from "./scripted.ts"

const vectors: StateVectors = JSON.parse(
  readFileSync(join(import.meta.dirname, "../../clients/vectors/local-states.json"), "utf8"),
)

/** Browsers have no `setImmediate`. A message is the next turn, too. */
const PAGE = `
import { play } from ${JSON.stringify(join(import.meta.dirname, "scripted.ts"))}

globalThis.setImmediate = (work) => {
  const { port1, port2 } = new MessageChannel()
  port1.onmessage = () => {
    port1.close()
    work()
  }
  port2.postMessage(null)
}
globalThis.playAll = async (vectors) => {
  const played = []
  for (const one of vectors.cases) played.push((await play(vectors, one)).seen)
  return played
}
`

describe("a local client in a browser", { timeout: 120_000 }, () => {
  it.live.skipIf(Browser.whyNoBrowser !== undefined)(
    Browser.inBrowser("has the state and the answer of each step of the vectors"),
    () =>
      Effect.gen(function* () {
        const origin = yield* startPage(yield* bundleIn(yield* temporaryDirectory, PAGE))
        const { page } = yield* (yield* Browser.shared).newTab()
        const played = yield* Effect.promise(async () => {
          await page.goto(origin)
          await page.waitForFunction("globalThis.playAll !== undefined")
          return page.evaluate<ReadonlyArray<ReadonlyArray<unknown>>>(`globalThis.playAll(${JSON.stringify(vectors)})`)
        })
        assert.strictEqual(played.length, vectors.cases.length)
        for (const [place, { id, steps }] of vectors.cases.entries()) {
          for (const [step, { at, do: name, expected }] of steps.entries()) {
            assert.deepStrictEqual(played[place]?.[step], expected, `${id}: ${name} at ${at}`)
          }
        }
      }).pipe(Effect.scoped),
  )
})
