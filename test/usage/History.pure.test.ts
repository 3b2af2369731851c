import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, BigDecimal, Option, Schema } from "effect"
import { createHash } from "node:crypto"
import {
  bucketBounds,
  bucketsOf,
  bucketStart,
  contributions,
  eventId,
  merged,
  noEvents,
  placeOf,
  placeText,
  rangeErrors,
  totalWithout,
} from "../../src/domains/usage/history/Rules.ts"
import type { DaySums, HourSums, Sums } from "../../src/domains/usage/history/Rules.ts"
import { emptyTotal, fold } from "../../src/domains/usage/rules/Aggregation.ts"
import type { UsageEvent } from "../../src/domains/usage/rules/Aggregation.ts"
import { decimalOfAmount } from "../../src/kernel/values/Decimal.ts"
import { DAY_MS, FIRST_INSTANT_MS, HOUR_MS, LAST_INSTANT_MS } from "../../src/kernel/values/Timestamp.ts"
import { after, decimal, START } from "./meters.ts"

const meter = { instanceId: "i", entitlementId: "e" }
const text = (value: BigDecimal.BigDecimal) => BigDecimal.format(BigDecimal.normalize(value))

describe("the id of an event", () => {
  it("is its period, its number and 64 bits of its meter", () => {
    const place = { periodStart: new Date(36 ** 3 + 35), ordinal: 37 }
    assert.strictEqual(placeText(place), "100z-11")
    const hash = createHash("sha256").update("i e").digest("hex").slice(0, 16)
    assert.strictEqual(eventId(place, meter), `100z-11-${hash}`)
  })

  const millis = Schema.Int.check(Schema.isBetween({ minimum: FIRST_INSTANT_MS, maximum: LAST_INSTANT_MS }))
  const ordinals = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 ** 40 }))
  it.prop(
    "names its place, for its own meter and in the form of the release before",
    [millis, ordinals],
    ([start, ordinal]) => {
      const place = { periodStart: new Date(start), ordinal }
      assert.deepStrictEqual(placeOf(eventId(place, meter), meter), Option.some(place))
      assert.deepStrictEqual(placeOf(placeText(place), meter), Option.some(place))
      assert.deepStrictEqual(placeOf(eventId(place, meter), { ...meter, instanceId: "j" }), Option.none())
    },
  )

  it("of a year that cannot be written names no place", () => {
    for (const [start, expected] of [
      [FIRST_INSTANT_MS, true],
      [FIRST_INSTANT_MS - 1, false],
      [LAST_INSTANT_MS, true],
      [LAST_INSTANT_MS + 1, false],
    ] as const) {
      assert.strictEqual(
        Option.isSome(placeOf(placeText({ periodStart: new Date(start), ordinal: 1 }), meter)),
        expected,
      )
    }
  })

  it.each(["", "1", "1-", "-1", "1-2-3", "A-1", "01-1", "1-01", "1-1-0000000000000000", "1 1"])("is not %j", (id) => {
    assert.isTrue(Option.isNone(placeOf(id, meter)))
  })
})

const between = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))

interface Numbered extends UsageEvent {
  readonly ordinal: number
}

const manyEvents = Arbitrary.map(
  Arbitrary.schema(
    Schema.Array(Schema.Tuple([between(0, 23), between(0, 9), between(0, 5)])).check(Schema.isMaxLength(8)),
  ),
  (rows) =>
    rows.map(([tenth, value, kind], ordinal): Numbered => ({
      // Ten minutes are short, so that some events have the same instant.
      timestamp: after(tenth * 600_000),
      behavior: kind === 0 ? "set" : "append",
      value: decimal(String(value)),
      uniqueKey: null,
      ordinal,
    })),
)

const methods = ["SUM", "COUNT", "AVERAGE", "MIN", "MAX", "LATEST"] as const

/** The events that count: from the newest set on. */
const countingOf = (events: ReadonlyArray<Numbered>) => {
  const ordered = events.toSorted((one, other) => one.timestamp.getTime() - other.timestamp.getTime())
  return ordered.slice(
    Math.max(
      0,
      ordered.findLastIndex(({ behavior }) => behavior === "set"),
    ),
  )
}

describe("a total without a voided event", () => {
  it("that was the only one is 0", () => {
    const event = { timestamp: START, behavior: "append", value: decimal("4"), uniqueKey: null } as const
    for (const method of ["SUM", "COUNT", "AVERAGE"] as const) {
      const left = totalWithout(method, fold(method, [event]), event)
      assert.deepStrictEqual([left && text(left.value), left?.valueCount], ["0", 0], method)
    }
  })

  for (const method of methods) {
    it.prop(`is that of the other events: ${method}`, [manyEvents, between(0, 7)], ([events, index]) => {
      const voided = events[index]
      if (voided === undefined) return
      const total = fold(method, events)
      const left = totalWithout(method, total, voided)
      const isReplaced = total.setAt !== null && voided.timestamp < total.setAt
      const isOfSet = voided.behavior === "set" || voided.timestamp.getTime() === total.setAt?.getTime()
      const isComputed = method === "SUM" || method === "COUNT" || method === "AVERAGE"
      assert.strictEqual(left === undefined, isOfSet || !(isReplaced || isComputed))
      if (left === undefined) return
      const others = fold(
        method,
        events.filter((event) => event !== voided),
      )
      assert.deepStrictEqual([text(left.value), text(left.sum)], [text(others.value), text(others.sum)])
      assert.strictEqual(left.valueCount, others.valueCount)
    })
  }
})

const sumsOf = (events: ReadonlyArray<Numbered>): Sums =>
  events
    .map(({ ordinal, timestamp: at, value }): Sums => ({
      count: 1,
      sum: value,
      minimum: value,
      maximum: value,
      latest: { value, at, ordinal },
    }))
    .reduce(merged, noEvents)

/** The sums of the hours of events, in up to two parts. */
const hoursOf = (events: ReadonlyArray<Numbered>): ReadonlyArray<HourSums> =>
  Array.from(
    Map.groupBy(events, ({ ordinal, timestamp }) => `${bucketStart("HOUR", timestamp).getTime()} ${ordinal % 2}`),
    ([key, group]) => ({ hour: new Date(Number(key.split(" ")[0])), ...sumsOf(group) }),
  )

describe("buckets", () => {
  for (const method of methods) {
    it.prop(
      `have what counts of their own events: ${method}`,
      [manyEvents, Schema.Literals(["HOUR", "DAY"])],
      ([events, size]) => {
        const total = fold(method, events)
        const counting = countingOf(events)
        const setHour = total.setAt && bucketStart("HOUR", total.setAt).getTime()
        const { maximum, minimum } = sumsOf(
          counting.filter(({ timestamp }) => bucketStart("HOUR", timestamp).getTime() === setHour),
        )
        const bounds = bucketBounds({ bucket: size, from: START, to: after(4 * HOUR_MS) }) ?? []
        const buckets = bucketsOf(
          method,
          bounds,
          contributions(method, { periodStart: START, total, hours: hoursOf(events), sinceSet: { minimum, maximum } }),
        )
        const isIn = (index: number) => (event: UsageEvent) =>
          bucketStart(size, event.timestamp).getTime() === bounds[index]?.getTime()
        assert.deepStrictEqual(
          buckets.map(({ event_count, start, value }) => [start, event_count, text(decimalOfAmount(value))]),
          bounds.slice(0, -1).map((start, index) => {
            const own = counting.filter(isIn(index))
            const value =
              method === "COUNT" && own.length > 0 && own[0]?.behavior !== "set"
                ? BigDecimal.fromNumberUnsafe(own.length)
                : fold(method, own).value
            return [start, events.filter(isIn(index)).length, text(value)]
          }),
        )
      },
    )
  }

  it("have what counts of days whose events were dropped", () => {
    const day = (more: Partial<DaySums>): DaySums => ({
      ...sumsOf([
        { timestamp: START, behavior: "append", value: decimal("4"), uniqueKey: null, ordinal: 1 },
        { timestamp: START, behavior: "append", value: decimal("6"), uniqueKey: null, ordinal: 2 },
      ]),
      day: START,
      eventCount: 7,
      lastAt: after(5),
      set: null,
      ...more,
    })
    const shown = (method: "SUM" | "COUNT", own: DaySums, setAt: Date | null) =>
      contributions(method, { periodStart: START, total: { ...emptyTotal, setAt }, hours: [], days: [own] }).map(
        ({ counting, events, hour }) => [hour, events, text(counting.sum)],
      )
    assert.deepStrictEqual(shown("SUM", day({}), null), [[START, 7, "10"]])
    assert.deepStrictEqual(shown("COUNT", day({}), null), [[START, 7, "2"]])
    assert.deepStrictEqual(shown("COUNT", day({ set: { at: START, value: decimal("100") } }), null), [
      [START, 7, "101"],
    ])
    assert.deepStrictEqual(shown("SUM", day({}), after(4)), [[START, 7, "10"]])
    assert.deepStrictEqual(shown("SUM", day({}), after(5)), [[START, 7, "10"]])
    assert.deepStrictEqual(shown("SUM", day({}), after(6)), [[START, 7, "0"]])
  })

  it("follow one another, and have nothing from sums without events", () => {
    const bounds = [after(0), after(1), after(3)]
    assert.deepStrictEqual(
      bucketsOf("SUM", bounds, []).map(({ end, start }) => [start, end]),
      [
        [after(0), after(1)],
        [after(1), after(3)],
      ],
    )
    const sums = sumsOf([{ timestamp: START, behavior: "append", value: decimal("4"), uniqueKey: null, ordinal: 1 }])
    assert.deepStrictEqual(merged(sums, noEvents), sums)
    assert.deepStrictEqual(merged(noEvents, sums), sums)
  })

  it("leave out what is before the first and after the last one", () => {
    const at = (hour: number) => ({
      hour: after(hour * HOUR_MS),
      events: 1,
      counting: { ...noEvents, sum: decimal("1") },
    })
    const bounds = [after(0), after(HOUR_MS), after(2 * HOUR_MS)]
    assert.deepStrictEqual(
      bucketsOf("SUM", bounds, [at(2), at(1), at(0), at(-1), at(1)]).map(({ event_count, value }) => [
        event_count,
        value,
      ]),
      [
        [1, 1],
        [2, 2],
      ],
    )
  })

  it("begin with the hour, the day or the month in UTC", () => {
    const at = new Date("2026-03-31T23:59:59.999Z")
    const starts = (["HOUR", "DAY", "MONTH"] as const).map((size) => bucketStart(size, at).toISOString())
    assert.deepStrictEqual(starts, ["2026-03-31T23:00:00.000Z", "2026-03-31T00:00:00.000Z", "2026-03-01T00:00:00.000Z"])
    for (const size of ["HOUR", "DAY", "MONTH"] as const) {
      const start = bucketStart(size, at)
      assert.deepStrictEqual(bucketStart(size, start), start)
      assert.isTrue(bucketStart(size, new Date(start.getTime() - 1)) < start)
    }
  })

  it("of months follow the calendar", () => {
    assert.deepStrictEqual(
      bucketBounds({
        bucket: "MONTH",
        from: new Date("2025-12-31T00:00:00Z"),
        to: new Date("2026-02-01T00:00:00.001Z"),
      }),
      ["2025-12-01", "2026-01-01", "2026-02-01", "2026-03-01"].map((day) => new Date(day)),
    )
  })
})

describe("the range of a history", () => {
  const messages = (bucket: "HOUR" | "DAY", from: Date, to: Date) =>
    rangeErrors({ bucket, from, to }).map(({ location, message }) => `${location} ${message.slice(0, 21)}`)

  it("ends after it begins", () => {
    for (const millis of [-1, 0]) {
      assert.deepStrictEqual(messages("DAY", START, after(millis)), ["query.to must be after from"])
    }
    assert.deepStrictEqual(messages("DAY", START, after(1)), [])
  })

  it("has at most 750 buckets", () => {
    assert.deepStrictEqual(messages("DAY", START, after(750 * DAY_MS)), [])
    assert.deepStrictEqual(messages("DAY", START, after(750 * DAY_MS + 1)), ["query.to must leave at most 75"])
    assert.lengthOf(bucketBounds({ bucket: "DAY", from: START, to: after(750 * DAY_MS) }) ?? [], 751)
  })

  it("has no bucket that ends after the year 9999", () => {
    const from = new Date("9999-12-31T21:00:00Z")
    assert.deepStrictEqual(messages("HOUR", from, new Date("9999-12-31T23:00:00.000Z")), [])
    assert.deepStrictEqual(messages("HOUR", from, new Date("9999-12-31T23:00:00.001Z")), [
      "query.to must be at most 9999-",
    ])
  })
})
