import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, BigDecimal, Schema } from "effect"
import type { ReportAggregation } from "../../src/domains/entitlements/Model.ts"
import { aggregationMethods } from "../../src/domains/entitlements/Model.ts"
import { add, fold, isLateSet, emptyTotal } from "../../src/domains/usage/rules/Aggregation.ts"
import type { Total, UsageEvent } from "../../src/domains/usage/rules/Aggregation.ts"

const start = Date.UTC(2026, 0, 1)

type Shorthand = readonly [minute: number, value: number | string, behavior?: "append" | "set", key?: string]

const eventOf = ([minute, value, behavior = "append", key]: Shorthand): UsageEvent => ({
  timestamp: new Date(start + minute * 60_000),
  behavior,
  value: BigDecimal.fromStringUnsafe(String(value)),
  uniqueKey: key ?? null,
})

const usageOf = (method: ReportAggregation, ...events: ReadonlyArray<Shorthand>) => {
  const { eventCount, value } = fold(method, events.map(eventOf))
  return [BigDecimal.toNumberUnsafe(value), eventCount]
}

/** The incrementally computed total, event by event in the order of arrival. */
const maintain = (method: ReportAggregation, events: ReadonlyArray<UsageEvent>): Total =>
  events.reduce((total, event, index) => {
    const before = events.slice(0, index)
    const laterEvents = isLateSet(total, event) ? before.filter(({ timestamp }) => timestamp > event.timestamp) : []
    const isNewKey = before.every(({ uniqueKey }) => uniqueKey !== event.uniqueKey)
    return add(method, total, event, { isNewKey, laterEvents })
  }, emptyTotal)

describe("the aggregation of usage events", () => {
  it("a period without events has the usage zero under every method", () => {
    for (const method of aggregationMethods) assert.deepStrictEqual(usageOf(method), [0, 0])
  })

  it("each method aggregates events in its own way", () => {
    const events: ReadonlyArray<Shorthand> = [
      [1, 10],
      [3, 2],
      [2, 6],
    ]
    assert.deepStrictEqual(usageOf("SUM", ...events), [18, 3])
    assert.deepStrictEqual(usageOf("COUNT", ...events), [3, 3])
    assert.deepStrictEqual(usageOf("AVERAGE", ...events), [6, 3])
    assert.deepStrictEqual(usageOf("MIN", ...events), [2, 3])
    assert.deepStrictEqual(usageOf("MAX", ...events), [10, 3])
    assert.deepStrictEqual(usageOf("LATEST", ...events), [2, 3])
  })

  it("a negative value lowers a sum", () => {
    assert.deepStrictEqual(usageOf("SUM", [1, 10]), [10, 1])
    assert.deepStrictEqual(usageOf("SUM", [1, 10], [2, -5]), [5, 2])
    assert.deepStrictEqual(usageOf("SUM", [1, 10], [2, -5], [3, 2]), [7, 3])
  })

  it("a sum of decimals is exact", () => {
    const { value } = fold("SUM", [eventOf([1, "0.1"]), eventOf([2, "0.2"])])
    assert.strictEqual(BigDecimal.format(value), "0.3")
  })

  it("a unique key is counted once", () => {
    const events: ReadonlyArray<Shorthand> = [
      [1, 0, "append", "ann"],
      [2, 0, "append", "bob"],
      [3, 0, "append", "ann"],
    ]
    assert.deepStrictEqual(usageOf("UNIQUE_COUNT", ...events), [2, 3])
  })

  it("of several values with one timestamp, the last to arrive is the latest", () => {
    assert.deepStrictEqual(usageOf("LATEST", [5, 1], [5, 2], [4, 3]), [2, 3])
  })

  it("a set replaces all earlier events, including those that arrive after it", () => {
    assert.deepStrictEqual(usageOf("SUM", [1, 10], [2, 3, "set"], [3, 4], [1, 100]), [7, 4])
    assert.deepStrictEqual(usageOf("COUNT", [1, 1], [2, 5, "set"], [3, 1]), [6, 3])
    assert.deepStrictEqual(usageOf("AVERAGE", [1, 100], [2, 4, "set"], [3, 8]), [6, 3])
    assert.deepStrictEqual(usageOf("MIN", [1, 1], [2, 5, "set"], [3, 9]), [5, 3])
    assert.deepStrictEqual(usageOf("SUM", [3, 4], [1, 10], [2, 3, "set"]), [7, 3])
  })
})

const cents = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 500 }))
const minutes = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 12 }))
const kinds = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3 }))
const keys = Schema.Literals(["a", "b", "c", "d"])
const history = Arbitrary.schema(Schema.Array(Schema.Tuple([minutes, cents, kinds, keys])))

const eventsOf = (rows: ReadonlyArray<readonly [number, number, number, string]>, method: ReportAggregation) =>
  rows.map(([minute, value, kind, key]) => ({
    ...eventOf([minute, 0, kind === 0 && method !== "UNIQUE_COUNT" ? "set" : "append", key]),
    value: BigDecimal.make(BigInt(value), 2),
  }))

/** The definition in another form: from the newest set on, without state. */
const plainly = (method: ReportAggregation, events: ReadonlyArray<UsageEvent>): number => {
  const ordered = events
    .map((event, arrival) => ({ ...event, arrival, cents: Math.round(BigDecimal.toNumberUnsafe(event.value) * 100) }))
    .sort((one, other) => one.timestamp.getTime() - other.timestamp.getTime() || one.arrival - other.arrival)
  const newestSet = ordered.findLastIndex(({ behavior }) => behavior === "set")
  const counting = ordered.slice(Math.max(newestSet, 0))
  const values = counting.map((event) => event.cents)
  if (values.length === 0) return 0
  const sum = values.reduce((one, other) => one + other, 0)
  const byMethod: Record<ReportAggregation, number> = {
    SUM: sum,
    COUNT: newestSet === -1 ? values.length * 100 : (values[0] ?? 0) + (values.length - 1) * 100,
    AVERAGE: sum / values.length,
    MIN: Math.min(...values),
    MAX: Math.max(...values),
    LATEST: values.at(-1) ?? 0,
    UNIQUE_COUNT: new Set(events.map(({ uniqueKey }) => uniqueKey)).size * 100,
  }
  return byMethod[method] / 100
}

const written = ({ sum, value, ...total }: Total) => ({
  ...total,
  value: BigDecimal.format(BigDecimal.normalize(value)),
  sum: BigDecimal.format(BigDecimal.normalize(sum)),
})

describe("any events in any order", () => {
  for (const method of aggregationMethods) {
    it.prop(
      `a maintained ${method} is the one that all events come to`,
      { rows: history },
      ({ rows }) => {
        const events = eventsOf(rows, method)
        const folded = fold(method, events)
        assert.deepStrictEqual(written(maintain(method, events)), written(folded))
        assert.closeTo(BigDecimal.toNumberUnsafe(folded.value), plainly(method, events), 1e-9)
      },
      { arbitrary: { runs: 500 } },
    )
  }
})
