import { assert, describe, it } from "@effect/vitest"
import {
  FIRST_INSTANT_MS,
  isBefore,
  isSameInstant,
  isWritable,
  LAST_INSTANT_MS,
  monthStartMs,
  nearestWritable,
  parseInstant,
} from "../../src/kernel/values/Timestamp.ts"

describe("the instants that can be written", () => {
  it.each([
    [FIRST_INSTANT_MS - 1, false],
    [FIRST_INSTANT_MS, true],
    [LAST_INSTANT_MS, true],
    [LAST_INSTANT_MS + 1, false],
  ])("are those of the years 1 to 9999: %d %s", (millis, expected) => {
    assert.strictEqual(isWritable(millis), expected)
    assert.strictEqual(nearestWritable(millis).getTime() === millis, expected)
    assert.match(nearestWritable(millis).toISOString(), /^(0001-01-01T00:00:00.000Z|9999-12-31T23:59:59.999Z)$/)
  })

  it("are before others, or the same", () => {
    const at = (millis: number | null) => (millis === null ? null : new Date(millis))
    assert.deepStrictEqual(
      [0, 1, 2].map((millis) => isBefore(new Date(millis), new Date(1))),
      [true, false, false],
    )
    const pairs = [
      [1, 1],
      [1, 2],
      [1, null],
      [null, null],
    ] as const
    assert.deepStrictEqual(
      pairs.map(([one, other]) => isSameInstant(at(one), at(other))),
      [true, false, false, true],
    )
  })
})

describe("an instant of a request", () => {
  it.each([
    ["2026-01-31T09:00:00Z", "2026-01-31T09:00:00.000Z"],
    ["2026-01-31t09:00:00.5z", "2026-01-31T09:00:00.500Z"],
    ["2026-01-31T09:00:00.1239Z", "2026-01-31T09:00:00.123Z"],
    ["2026-01-31T10:30:00+01:30", "2026-01-31T09:00:00.000Z"],
    ["2026-01-31T07:30:00-01:30", "2026-01-31T09:00:00.000Z"],
    ["2026-01-31T23:59:59+23:59", "2026-01-31T00:00:59.000Z"],
    ["2024-02-29T00:00:00Z", "2024-02-29T00:00:00.000Z"],
    ["2000-02-29T00:00:00Z", "2000-02-29T00:00:00.000Z"],
    ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"],
    ["0099-03-01T00:00:00Z", "0099-03-01T00:00:00.000Z"],
    ["9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"],
    ["2016-12-31T23:59:60Z", "2016-12-31T23:59:59.999Z"],
    ["2016-12-31T23:59:60.9Z", "2016-12-31T23:59:59.999Z"],
    ["2017-01-01T00:59:60+01:00", "2016-12-31T23:59:59.999Z"],
  ])("is read: %s", (text, expected) => {
    assert.strictEqual(parseInstant(text)?.toISOString(), expected)
  })

  it.each([
    "2026-01-00T00:00:00Z",
    "2026-00-01T00:00:00Z",
    "2026-13-01T00:00:00Z",
    "2026-01-32T00:00:00Z",
    "2026-04-31T00:00:00Z",
    "2026-02-29T00:00:00Z",
    "2024-02-30T00:00:00Z",
    "1900-02-29T00:00:00Z",
    "2026-01-31T24:00:00Z",
    "2026-01-31T00:60:00Z",
    "2026-01-31T00:00:61Z",
    "2026-01-31T00:00:60Z",
    "2026-01-30T23:59:60Z",
    "2026-01-31T00:00:00+24:00",
    "2026-01-31T00:00:00+00:60",
    "0000-12-31T23:59:59Z",
    "0001-01-01T00:00:00+00:01",
    "9999-12-31T23:59:59-00:01",
    "2026-01-31T00:00:00",
    "2026-01-31 00:00:00Z",
  ])("is not %s", (text) => {
    assert.isUndefined(parseInstant(text))
  })

  it.each([1, 3, 5, 7, 8, 10, 12])("has 31 days in month %d", (month) => {
    const day = (count: number) => `2026-${String(month).padStart(2, "0")}-${count}T00:00:00Z`
    assert.isDefined(parseInstant(day(31)))
    assert.isUndefined(parseInstant(day(32)))
  })

  it.each([4, 6, 9, 11])("has 30 days in month %d", (month) => {
    const day = (count: number) => `2026-${String(month).padStart(2, "0")}-${count}T00:00:00Z`
    assert.isDefined(parseInstant(day(30)))
    assert.isUndefined(parseInstant(day(31)))
  })

  it("has a month that begins in any year", () => {
    for (const [year, month, expected] of [
      [1970, 1, "1970-01-01"],
      [1969, 13, "1970-01-01"],
      [2026, 0, "2025-12-01"],
      [50, 3, "0050-03-01"],
    ] as const) {
      assert.strictEqual(new Date(monthStartMs(year, month)).toISOString(), `${expected}T00:00:00.000Z`)
    }
  })
})
