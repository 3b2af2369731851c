import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { play } from "./scripted.ts"
import type { StateVectors } from "./scripted.ts"

const vectors: StateVectors = JSON.parse(
  readFileSync(join(import.meta.dirname, "../../clients/vectors/local-states.json"), "utf8"),
)

describe("a local client", () => {
  for (const one of vectors.cases) {
    it(`${one.id}: ${one.why}`, async () => {
      const { seen } = await play(vectors, one)
      for (const [place, { at, do: name, expected }] of one.steps.entries()) {
        assert.deepStrictEqual(seen[place], expected, `${name} at ${at}`)
      }
    })
  }

  it("tells no token, no key and no amount in its events, and each change of its state once", async () => {
    for (const one of vectors.cases) {
      const { events } = await play(vectors, one)
      const text = JSON.stringify(events)
      for (const { token } of Object.values(vectors.snapshots)) assert.notInclude(text, token)
      for (const key of Object.values(vectors.keys)) assert.notInclude(text, key)
      for (const event of events) if (event.type === "state") assert.notStrictEqual(event.state, event.previous)
    }
  })
})
