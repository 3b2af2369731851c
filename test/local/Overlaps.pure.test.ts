import { assert, describe, it } from "@effect/vitest"
import { afterRefill, besideRefill, NO_REFILL } from "../../src/local/Overlaps.ts"
import type { Reply } from "../../src/local/index.ts"

const snapshot: Reply = { type: "snapshot", token: "token", etag: '"a.1"', maxAgeMs: 30_000 }

describe("a snapshot beside a refill", () => {
  it("is taken if no refill came since its request", () => {
    assert.strictEqual(besideRefill(snapshot, 100, NO_REFILL, false), snapshot)
    assert.strictEqual(besideRefill(snapshot, 100, { sentAt: 10, takenAt: 90 }, false), snapshot)
  })

  it("confirms the snapshot of a refill that was sent after its request", () => {
    assert.deepInclude(besideRefill(snapshot, 100, { sentAt: 110, takenAt: 120 }, false) as object, {
      type: "unchanged",
      maxAgeMs: 30_000,
    })
  })

  it("is requested again, once, if a refill was in flight", () => {
    const refill = { sentAt: 90, takenAt: 120 }
    assert.strictEqual(besideRefill(snapshot, 100, refill, false), "repeat")
    assert.strictEqual(besideRefill(snapshot, 100, refill, true), snapshot)
  })

  it("that is confirmed, or failed, is as it is", () => {
    const reply: Reply = { type: "unchanged" }
    assert.strictEqual(besideRefill(reply, 100, { sentAt: 90, takenAt: 120 }, false), reply)
  })

  it("waits for a refill that ends soon, and not for one that hangs", async () => {
    const timers: Array<() => void> = []
    const clock = {
      wall: () => 0,
      monotonic: () => 0,
      random: () => 0,
      after: (_: number, work: () => void) => {
        timers.push(work)
        return () => undefined
      },
    }
    let isOver = false
    const waiting = afterRefill(clock, Promise.withResolvers<void>().promise).then(() => (isOver = true))
    await Promise.resolve()
    assert.isFalse(isOver)
    for (const work of timers) work()
    await waiting
    await afterRefill(clock, Promise.resolve())
    await afterRefill(clock, undefined)
  })
})
