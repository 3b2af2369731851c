import { assert, describe, it } from "@effect/vitest"
import { BigDecimal } from "effect"
import { aggregationMethods } from "../../src/domains/entitlements/Model.ts"
import { add, emptyTotal, fold, isLateSet, lowers, valueOf } from "../../src/domains/usage/rules/Aggregation.ts"
import type { Summary, UsageEvent } from "../../src/domains/usage/rules/Aggregation.ts"
import { totalWithout } from "../../src/domains/usage/history/Rules.ts"
import { decimal } from "./meters.ts"

const event = (at: number, value: string, behavior: UsageEvent["behavior"] = "append"): UsageEvent => ({
  timestamp: new Date(at),
  behavior,
  value: decimal(value),
  uniqueKey: null,
})
const text = (value: BigDecimal.BigDecimal) => BigDecimal.format(BigDecimal.normalize(value))

describe("an AVERAGE", () => {
  it.each([
    [["0", "0.000000000000000001"], "1e-18"],
    [["0", "0.000000000000000003"], "2e-18"],
    [["0", "-0.000000000000000001"], "-1e-18"],
    [["0", "0", "0.000000000000000001"], "0"],
    [["1", "0", "0"], "0.333333333333333333"],
    [["2", "0", "0"], "0.666666666666666667"],
  ])("of %j is rounded to 18 decimals, a half away from zero", (values, expected) => {
    const { value } = fold(
      "AVERAGE",
      values.map((one, index) => event(index, one)),
    )
    assert.isTrue(BigDecimal.equals(value, decimal(expected)), text(value))
  })
})

describe("a LATEST", () => {
  it.each([
    ["in the past", 99, "1"],
    ["of the same instant", 100, "2"],
    ["of a later instant", 101, "2"],
  ])("that has a value takes one %s: %d", (_, at, expected) => {
    const first = add("LATEST", emptyTotal, event(100, "1"), { isNewKey: false, laterEvents: [] })
    assert.strictEqual(text(add("LATEST", first, event(at, "2"), { isNewKey: false, laterEvents: [] }).value), expected)
    assert.strictEqual(text(fold("LATEST", [event(100, "1"), event(at, "2")]).value), expected)
  })

  it("is found again from its events if one of them is voided, but for an event before the newest set", () => {
    const total = fold("LATEST", [event(1, "5"), event(2, "7", "set"), event(3, "9")])
    assert.isUndefined(totalWithout("LATEST", total, event(3, "9")))
    assert.isUndefined(totalWithout("LATEST", total, event(2, "7", "set")))
    assert.isUndefined(totalWithout("LATEST", total, event(2, "7")))
    assert.strictEqual(totalWithout("LATEST", total, event(1, "5")), total)
  })
})

describe("the instants of a total", () => {
  it("are those of its newest event, set and value, also before 1970", () => {
    const { lastAt, latestAt, setAt } = fold("SUM", [event(-2, "1", "set"), event(-1, "1"), event(-3, "1")])
    assert.deepStrictEqual([lastAt, latestAt, setAt], [new Date(-1), new Date(-1), new Date(-2)])
    assert.deepStrictEqual(fold("SUM", [event(-5, "1")]).lastAt, new Date(-5))
  })

  it("and its value begin with the first event, whatever sign that has", () => {
    assert.strictEqual(text(fold("MAX", [event(0, "-5")]).value), "-5")
    assert.strictEqual(text(fold("MIN", [event(0, "5")]).value), "5")
  })
})

describe("an event lowers what was counted", () => {
  it.each([
    ["SUM", "append", "-1", "5", "4", true],
    ["SUM", "append", "0", "5", "5", false],
    ["SUM", "append", "1", "5", "4", false],
    ["AVERAGE", "append", "-1", "5", "4", false],
    ["MIN", "append", "4", "5", "4", false],
    ["SUM", "set", "4", "5", "4", true],
    ["SUM", "set", "5", "5", "5", false],
    ["SUM", "set", "6", "5", "6", false],
    ["MIN", "set", "4", "5", "4", true],
    ["LATEST", "set", "4", "5", "4", false],
  ] as const)("%s: %s of %s, from %s to %s: %s", (method, behavior, value, before, later, expected) => {
    assert.strictEqual(lowers(method, event(0, value, behavior), decimal(before), decimal(later)), expected)
  })
})

describe("a set is late", () => {
  const at = (instant: number | null) => (instant === null ? null : new Date(instant))
  it.each([
    ["set", 9, null, 10, true],
    ["set", 10, null, 10, false],
    ["set", 11, null, 10, false],
    ["set", 9, null, null, false],
    ["set", 9, 8, 10, true],
    ["set", 9, 9, 10, true],
    ["set", 8, 9, 10, false],
    ["append", 9, null, 10, false],
  ] as const)(
    "%s at %d, with the newest set at %s and the last event at %s: %s",
    (behavior, time, setAt, lastAt, late) => {
      const total = { ...emptyTotal, setAt: at(setAt), lastAt: at(lastAt) }
      assert.strictEqual(isLateSet(total, event(time, "1", behavior)), late)
    },
  )
})

describe("the usage of a summary", () => {
  const nothing: Summary = {
    replacedBy: null,
    count: 0,
    keys: 0,
    sum: null,
    minimum: null,
    maximum: null,
    latest: null,
  }
  const [one, two, three] = [decimal("1"), decimal("2"), decimal("3")]
  const summary: Summary = {
    replacedBy: null,
    count: 4,
    keys: 5,
    sum: decimal("6"),
    minimum: one,
    maximum: three,
    latest: two,
  }

  it("of no events is 0 under every method", () => {
    for (const method of aggregationMethods) assert.strictEqual(text(valueOf(method, nothing)), "0", method)
  })

  it.each([
    ["SUM", "6"],
    ["COUNT", "4"],
    ["AVERAGE", "1.5"],
    ["MIN", "1"],
    ["MAX", "3"],
    ["LATEST", "2"],
    ["UNIQUE_COUNT", "5"],
  ] as const)("is its own for %s: %s", (method, expected) => {
    assert.strictEqual(text(valueOf(method, summary)), expected)
  })

  it("of a COUNT is the value of the newest set and one for each event after it", () => {
    assert.strictEqual(text(valueOf("COUNT", { ...summary, replacedBy: decimal("100") })), "103")
  })
})
