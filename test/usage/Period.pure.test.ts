import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import { resetAnchors, resetPeriods } from "../../src/domains/entitlements/Model.ts"
import { type Period, periodAt, type PeriodQuery } from "../../src/domains/usage/rules/Period.ts"
import periods from "../fixtures/periods.json" with { type: "json" }

const PublicCase = Schema.Struct({
  id: Schema.String,
  rule: Schema.Literals(["anchored", "calendar"]),
  timeZone: Schema.String,
  anchor: Schema.optionalKey(Schema.String),
  interval: Schema.Struct({ unit: Schema.Literals(resetPeriods), count: Schema.Int }),
  at: Schema.String,
  expected: Schema.Struct({ start: Schema.String, endExclusive: Schema.String }),
})
const publicCases = Schema.decodeUnknownSync(Schema.Array(PublicCase))(periods.cases)

const utc = (text: string): Date => new Date(text)
const between = (period: Period) => `${period.start.toISOString()} .. ${period.end?.toISOString() ?? "for ever"}`
const endOf = (period: Period): Date => {
  if (period.end === null) throw new Error("a resetting period has an end")
  return period.end
}
const daysInMonth = (date: Date) => new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate()
const timeOfDay = (date: Date) => date.toISOString().slice(-13)

const instant = (from: string, to: string) =>
  Arbitrary.map(
    Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: utc(from).getTime(), maximum: utc(to).getTime() }))),
    (milliseconds) => new Date(milliseconds),
  )
const licenseStart = instant("1970-01-01T00:00:00.000Z", "9999-12-31T23:59:59.999Z")
const monthEnd = Arbitrary.map(licenseStart, (date) => {
  const lastDay = new Date(date)
  lastDay.setUTCDate(daysInMonth(date))
  return lastDay
})
const at = instant("0100-01-01T00:00:00.000Z", "9999-12-31T23:59:59.999Z")
const resetPeriod = Schema.Literals(resetPeriods)
const resetAnchor = Schema.Literals(resetAnchors)
const query = { resetPeriod, resetAnchor, licenseStart, at }
// The last period is cached. Computing one thousands of years away makes sure that the next one is computed.
const computed = (query: PeriodQuery): Period => {
  periodAt({
    ...query,
    at: utc(query.at < utc("5000-01-01T00:00:00Z") ? "9000-01-01T00:00:00Z" : "1000-01-01T00:00:00Z"),
  })
  return periodAt(query)
}
const manyRuns = { arbitrary: { runs: 1000 } }

describe("usage periods of the public test suites", () => {
  const inUtc = publicCases.filter((one) => one.timeZone === "UTC")
  const applicable = inUtc.filter((one) => one.interval.count === 1)

  it("every public case is run, or skipped for its time zone or its longer interval", () => {
    assert.strictEqual(publicCases.length, 25)
    assert.strictEqual(publicCases.length - inUtc.length, 3, "cases in another time zone: calendar periods are UTC")
    assert.strictEqual(inUtc.length - applicable.length, 6, "cases of 3 and 6 months: no such reset period")
    assert.strictEqual(applicable.length, 16)
  })

  it.each(applicable)("$id: the $rule $interval.unit that holds $at starts at $expected.start", (one) => {
    const period = periodAt({
      resetPeriod: one.interval.unit,
      resetAnchor: one.rule === "anchored" ? "LICENSE_START" : "CALENDAR",
      licenseStart: utc(one.anchor ?? "2000-05-17T11:00:00Z"),
      at: utc(one.at),
    })
    assert.deepStrictEqual(period, { start: utc(one.expected.start), end: utc(one.expected.endExclusive) })
  })
})

describe("periods anchored at the license start", () => {
  const anchored = (resetPeriod: PeriodQuery["resetPeriod"], start: string, at: string) =>
    between(periodAt({ resetPeriod, resetAnchor: "LICENSE_START", licenseStart: utc(start), at: utc(at) }))

  it.each([
    ["2023-01-31T00:00:00Z", "2023-01-31T00:00:00Z", "2023-01-31T00:00:00.000Z .. 2023-02-28T00:00:00.000Z"],
    ["2023-01-31T00:00:00Z", "2023-02-28T00:00:00Z", "2023-02-28T00:00:00.000Z .. 2023-03-31T00:00:00.000Z"],
    ["2023-01-31T00:00:00Z", "2023-03-31T00:00:00Z", "2023-03-31T00:00:00.000Z .. 2023-04-30T00:00:00.000Z"],
    ["2023-01-31T00:00:00Z", "2024-02-29T00:00:00Z", "2024-02-29T00:00:00.000Z .. 2024-03-31T00:00:00.000Z"],
    ["2023-12-31T00:00:00Z", "2024-01-01T00:00:00Z", "2023-12-31T00:00:00.000Z .. 2024-01-31T00:00:00.000Z"],
  ])("a month from %s at %s ends on the month's last day and re-expands", (start, at, expected) => {
    assert.strictEqual(anchored("MONTH", start, at), expected)
  })

  it("a yearly period from 29 February starts on 28 February until the next leap year", () => {
    const start = "2024-02-29T00:00:00Z"
    assert.strictEqual(
      anchored("YEAR", start, "2028-02-28T23:59:59.999Z"),
      "2027-02-28T00:00:00.000Z .. 2028-02-29T00:00:00.000Z",
    )
    assert.strictEqual(
      anchored("YEAR", start, "2028-03-01T00:00:00Z"),
      "2028-02-29T00:00:00.000Z .. 2029-02-28T00:00:00.000Z",
    )
    assert.strictEqual(
      anchored("YEAR", start, "2100-03-01T00:00:00Z"),
      "2100-02-28T00:00:00.000Z .. 2101-02-28T00:00:00.000Z",
    )
  })

  it("hours, days and weeks start at the milliseconds of the license start", () => {
    const start = "2024-05-15T10:20:30.456Z"
    const at = "2024-06-01T10:20:30.455Z"
    assert.strictEqual(anchored("HOUR", start, at), "2024-06-01T09:20:30.456Z .. 2024-06-01T10:20:30.456Z")
    assert.strictEqual(anchored("DAY", start, at), "2024-05-31T10:20:30.456Z .. 2024-06-01T10:20:30.456Z")
    assert.strictEqual(anchored("WEEK", start, at), "2024-05-29T10:20:30.456Z .. 2024-06-05T10:20:30.456Z")
  })

  it("the last millisecond before a boundary belongs to the earlier period, the boundary to the later", () => {
    const start = "2024-01-31T15:00:00.001Z"
    assert.strictEqual(
      anchored("MONTH", start, "2024-02-29T15:00:00.000Z"),
      "2024-01-31T15:00:00.001Z .. 2024-02-29T15:00:00.001Z",
    )
    assert.strictEqual(
      anchored("MONTH", start, "2024-02-29T15:00:00.001Z"),
      "2024-02-29T15:00:00.001Z .. 2024-03-31T15:00:00.001Z",
    )
  })

  it("an instant before the license start has a period", () => {
    const start = "2025-03-31T06:00:00Z"
    assert.strictEqual(
      anchored("MONTH", start, "2025-03-31T05:59:59.999Z"),
      "2025-02-28T06:00:00.000Z .. 2025-03-31T06:00:00.000Z",
    )
    assert.strictEqual(
      anchored("YEAR", start, "1969-12-31T00:00:00Z"),
      "1969-03-31T06:00:00.000Z .. 1970-03-31T06:00:00.000Z",
    )
    assert.strictEqual(
      anchored("HOUR", start, "2025-03-31T05:59:59.999Z"),
      "2025-03-31T05:00:00.000Z .. 2025-03-31T06:00:00.000Z",
    )
  })

  it("eight thousand years after the license start, periods still start on its day", () => {
    assert.strictEqual(
      anchored("MONTH", "1970-01-31T00:00:00Z", "9999-02-27T00:00:00Z"),
      "9999-01-31T00:00:00.000Z .. 9999-02-28T00:00:00.000Z",
    )
  })

  it.prop(
    "a month starts on the license start's day, or on the month's last day where that is earlier, at the same time",
    { licenseStart, at },
    ({ licenseStart, at }) => {
      const period = periodAt({ resetPeriod: "MONTH", resetAnchor: "LICENSE_START", licenseStart, at })
      for (const boundary of [period.start, endOf(period)]) {
        assert.strictEqual(boundary.getUTCDate(), Math.min(licenseStart.getUTCDate(), daysInMonth(boundary)))
        assert.strictEqual(timeOfDay(boundary), timeOfDay(licenseStart))
      }
    },
    manyRuns,
  )

  it.prop(
    "a license that starts on a month's last day never skips a month",
    { licenseStart: monthEnd, at },
    ({ licenseStart, at }) => {
      const period = periodAt({ resetPeriod: "MONTH", resetAnchor: "LICENSE_START", licenseStart, at })
      const end = endOf(period)
      assert.strictEqual(end.getUTCDate(), Math.min(licenseStart.getUTCDate(), daysInMonth(end)))
      assert.strictEqual((period.start.getUTCMonth() + 1) % 12, end.getUTCMonth())
    },
    manyRuns,
  )

  it.prop(
    "a year starts in the license start's month, on its day or on 28 February, at the same time",
    { licenseStart, at },
    ({ licenseStart, at }) => {
      const period = periodAt({ resetPeriod: "YEAR", resetAnchor: "LICENSE_START", licenseStart, at })
      for (const boundary of [period.start, endOf(period)]) {
        assert.strictEqual(boundary.getUTCMonth(), licenseStart.getUTCMonth())
        assert.strictEqual(boundary.getUTCDate(), Math.min(licenseStart.getUTCDate(), daysInMonth(boundary)))
        assert.strictEqual(timeOfDay(boundary), timeOfDay(licenseStart))
      }
      assert.strictEqual(endOf(period).getUTCFullYear(), period.start.getUTCFullYear() + 1)
    },
    manyRuns,
  )

  it.prop(
    "the license start is itself the start of a period",
    { resetPeriod, licenseStart },
    ({ resetPeriod, licenseStart }) => {
      const period = periodAt({ resetPeriod, resetAnchor: "LICENSE_START", licenseStart, at: licenseStart })
      assert.deepStrictEqual(period.start, licenseStart)
    },
    manyRuns,
  )
})

describe("calendar periods", () => {
  const calendar = (resetPeriod: PeriodQuery["resetPeriod"], at: string) =>
    between(
      periodAt({ resetPeriod, resetAnchor: "CALENDAR", licenseStart: utc("2024-05-15T10:20:30.456Z"), at: utc(at) }),
    )

  it.each([
    ["HOUR", "2024-02-29T23:59:59.999Z", "2024-02-29T23:00:00.000Z .. 2024-03-01T00:00:00.000Z"],
    ["DAY", "2024-02-29T23:59:59.999Z", "2024-02-29T00:00:00.000Z .. 2024-03-01T00:00:00.000Z"],
    ["WEEK", "2024-03-03T23:59:59.999Z", "2024-02-26T00:00:00.000Z .. 2024-03-04T00:00:00.000Z"],
    ["WEEK", "2024-03-04T00:00:00.000Z", "2024-03-04T00:00:00.000Z .. 2024-03-11T00:00:00.000Z"],
    ["MONTH", "2024-02-29T23:59:59.999Z", "2024-02-01T00:00:00.000Z .. 2024-03-01T00:00:00.000Z"],
    ["MONTH", "2024-12-31T23:59:59.999Z", "2024-12-01T00:00:00.000Z .. 2025-01-01T00:00:00.000Z"],
    ["YEAR", "2024-12-31T23:59:59.999Z", "2024-01-01T00:00:00.000Z .. 2025-01-01T00:00:00.000Z"],
    ["WEEK", "1970-01-01T00:00:00.000Z", "1969-12-29T00:00:00.000Z .. 1970-01-05T00:00:00.000Z"],
    ["YEAR", "1969-12-31T23:59:59.999Z", "1969-01-01T00:00:00.000Z .. 1970-01-01T00:00:00.000Z"],
    ["MONTH", "0050-02-10T00:00:00.000Z", "0050-02-01T00:00:00.000Z .. 0050-03-01T00:00:00.000Z"],
    ["YEAR", "9999-12-31T23:59:59.999Z", "9999-01-01T00:00:00.000Z .. +010000-01-01T00:00:00.000Z"],
  ] as const)("the %s of %s is that of the UTC calendar", (resetPeriod, at, expected) => {
    assert.strictEqual(calendar(resetPeriod, at), expected)
  })

  it.prop(
    "an hour starts on the hour, a day at midnight, a week on Monday, a month on the first, a year on 1 January",
    { resetPeriod, licenseStart, at },
    ({ resetPeriod, licenseStart, at }) => {
      const { start } = periodAt({ resetPeriod, resetAnchor: "CALENDAR", licenseStart, at })
      const rest = start.toISOString().slice(-20)
      if (resetPeriod === "HOUR") assert.match(rest, /:00:00\.000Z$/)
      else assert.match(rest, /T00:00:00\.000Z$/)
      if (resetPeriod === "WEEK") assert.strictEqual(start.getUTCDay(), 1)
      if (resetPeriod === "MONTH") assert.match(rest, /-01T/)
      if (resetPeriod === "YEAR") assert.match(rest, /-01-01T/)
    },
    manyRuns,
  )

  it.prop(
    "a calendar period does not depend on the license start",
    { resetPeriod, one: licenseStart, another: licenseStart, at },
    ({ resetPeriod, one, another, at }) => {
      assert.deepStrictEqual(
        periodAt({ resetPeriod, resetAnchor: "CALENDAR", licenseStart: one, at }),
        periodAt({ resetPeriod, resetAnchor: "CALENDAR", licenseStart: another, at }),
      )
    },
  )
})

describe("lifetime periods", () => {
  it.prop(
    "a lifetime period starts at the license start and never ends, under either anchor",
    { resetAnchor, licenseStart, at },
    ({ resetAnchor, licenseStart, at }) => {
      assert.deepStrictEqual(periodAt({ resetPeriod: null, resetAnchor, licenseStart, at }), {
        start: licenseStart,
        end: null,
      })
    },
  )
})

describe("every resetting period", () => {
  it.prop(
    "a period contains its instant",
    query,
    (query) => {
      const period = periodAt(query)
      assert.isTrue(period.start <= query.at && query.at < endOf(period), between(period))
    },
    manyRuns,
  )

  it.prop(
    "periods follow one another without gap or overlap",
    query,
    (query) => {
      const period = periodAt(query)
      const before = periodAt({ ...query, at: new Date(period.start.getTime() - 1) })
      const after = periodAt({ ...query, at: endOf(period) })
      assert.deepStrictEqual(before.end, period.start)
      assert.deepStrictEqual(after.start, period.end)
    },
    manyRuns,
  )

  it.prop(
    "every instant of a period names the same period",
    { ...query, share: Schema.Number.check(Schema.isBetween({ minimum: 0, maximum: 1 })) },
    ({ share, ...query }) => {
      const period = periodAt(query)
      const last = endOf(period).getTime() - 1
      const inside = period.start.getTime() + Math.floor(share * (last - period.start.getTime()))
      for (const at of [period.start.getTime(), inside, last]) {
        assert.deepStrictEqual(computed({ ...query, at: new Date(at) }), period)
      }
    },
    manyRuns,
  )

  it.prop(
    "an instance has its own periods, whatever period was computed before",
    { ...query, otherStart: licenseStart },
    ({ otherStart, ...query }) => {
      const own = computed(query)
      periodAt({ ...query, licenseStart: otherStart })
      assert.deepStrictEqual(periodAt(query), own)
      assert.deepStrictEqual(periodAt({ ...query, at: endOf(own) }).start, own.end)
    },
    manyRuns,
  )
})
