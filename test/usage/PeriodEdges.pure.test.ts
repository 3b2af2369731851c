import { assert, describe, it } from "@effect/vitest"
import { contains, isWritablePeriod } from "../../src/domains/usage/rules/Period.ts"
import { FIRST_INSTANT_MS, LAST_INSTANT_MS } from "../../src/kernel/values/Timestamp.ts"
import { after } from "./meters.ts"

describe("a period", () => {
  it.each([
    [-1, false],
    [0, true],
    [9, true],
    [10, false],
    [11, false],
  ])("contains its start, and not its end: at %d ms of 10 %s", (millis, expected) => {
    assert.strictEqual(contains({ start: after(0), end: after(10) }, after(millis)), expected)
    assert.strictEqual(contains({ start: after(0), end: null }, after(millis)), millis >= 0)
  })

  it.each([
    [FIRST_INSTANT_MS, LAST_INSTANT_MS, true],
    [FIRST_INSTANT_MS - 1, LAST_INSTANT_MS, false],
    [FIRST_INSTANT_MS, LAST_INSTANT_MS + 1, false],
    [FIRST_INSTANT_MS, null, true],
    [FIRST_INSTANT_MS - 1, null, false],
  ])("can be written if both its limits can: %s to %s", (start, end, expected) => {
    const limits = { start: new Date(start), end: end === null ? null : new Date(end) }
    assert.strictEqual(isWritablePeriod(limits), expected)
  })
})
