import { assert, describe, it } from "@effect/vitest"
import { Duration, Schema } from "effect"
import { daysLeft, noticesOf, planOf } from "../../src/domains/instances/terms/Rules.ts"
import { DAY_MS } from "../../src/kernel/values/Timestamp.ts"

const leads = [Duration.days(30), Duration.days(7), Duration.days(1)]
const end = new Date("2030-06-01T00:00:00Z")
const daysFromEnd = (days: number) => new Date(end.getTime() + days * DAY_MS)
const term = { endLicenseDate: end, graceDays: 14, setAt: daysFromEnd(-400) }

describe("the notices of a license's end", () => {
  it("come at each lead time, at the end and at the end of the grace period", () => {
    assert.deepStrictEqual(
      noticesOf(term, leads).map(({ dueAt, event }) => [event, (dueAt.getTime() - end.getTime()) / DAY_MS]),
      [
        ["INSTANCE_TERM_ENDING", -30],
        ["INSTANCE_TERM_ENDING", -7],
        ["INSTANCE_TERM_ENDING", -1],
        ["INSTANCE_TERM_ENDED", 0],
        ["INSTANCE_GRACE_ENDED", 14],
      ],
    )
  })

  it.each([0, 1, 2])("say that a grace period of %d days ends if it has one", (graceDays) => {
    const ended = noticesOf({ ...term, graceDays }, []).filter(({ event }) => event === "INSTANCE_GRACE_ENDED")
    assert.deepStrictEqual(
      ended.map(({ dueAt }) => dueAt),
      graceDays === 0 ? [] : [daysFromEnd(graceDays)],
    )
  })

  it("announce no end that had passed when it was set, and no end of a grace period without days", () => {
    assert.deepStrictEqual(
      noticesOf({ ...term, graceDays: 0, setAt: end }, leads).map(({ event }) => event),
      ["INSTANCE_TERM_ENDED"],
    )
  })

  const day = Schema.Number.check(Schema.isBetween({ minimum: -500, maximum: 500 }))
  const whole = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 365 }))
  it.prop(
    "are emitted once each, at the first look at or after their time, however the clock steps",
    [Schema.Array(day), whole, Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 400 })))],
    ([looks, graceDays, leadDays]) => {
      const notices = noticesOf({ ...term, graceDays }, [...new Set(leadDays)].map(Duration.days))
      const emitted: Array<string> = []
      for (const look of looks) {
        const { due, next } = planOf(notices, new Set(emitted), daysFromEnd(look))
        for (const notice of due) assert.isAtMost(notice.dueAt.getTime(), daysFromEnd(look).getTime())
        emitted.push(...due.map(({ key }) => key))
        if (next !== null) assert.isAbove(next.getTime(), daysFromEnd(look).getTime())
        assert.strictEqual(next === null, emitted.length === notices.length)
      }
      assert.strictEqual(new Set(emitted).size, emitted.length)
      const latest = daysFromEnd(Math.max(...looks))
      const expected = looks.length === 0 ? [] : notices.filter(({ dueAt }) => dueAt <= latest)
      assert.deepStrictEqual(emitted.toSorted(), expected.map(({ key }) => key).toSorted())
    },
  )

  it("say how many days are left, rounded up, and 0 after the end", () => {
    assert.deepStrictEqual(
      [-30, -29.99, -1, -0.01, 0, 3].map((days) => daysLeft(end, daysFromEnd(days))),
      [30, 30, 1, 1, 0, 0],
    )
  })
})
