import { assert, describe, it } from "@effect/vitest"
import { BigDecimal } from "effect"
import { makeRandom } from "../offline/random.ts"
import type { Random } from "../offline/random.ts"
import { HOUR_MS } from "../../src/kernel/values/Timestamp.ts"
import { SellingLedger } from "./SellingLedger.ts"

const RUNS = 1_500
const STEPS = 40
const START = Date.UTC(2026, 0, 30)

const meter = {
  aggregationMethod: "SUM",
  resetPeriod: "DAY",
  resetAnchor: "CALENDAR",
  licenseStart: new Date(START),
} as const

const amounts = ["0.1", "1", "2.5", "7", "20"]
const number = (text: unknown) => BigDecimal.fromStringUnsafe(String(text))

interface Played {
  readonly ledger: SellingLedger
  readonly now: () => Date
  readonly step: () => void
}

/** A random history. Each step is an hour or less after the one before. */
const randomHistory = (random: Random): Played => {
  const limit = random.oneOf([null, "0", "5", "30"])
  const ledger = new SellingLedger(
    meter,
    limit === null ? null : { value: limit, overagePercent: random.oneOf([0, 0, 10]) },
  )
  let at = START
  let made = 0
  const uses: Array<string> = []
  const reservations: Array<string> = []
  const now = () => new Date(at)
  const timestamp = () => new Date(at - random.oneOf([0, 0, 0, 1, HOUR_MS, 5 * HOUR_MS]))
  const step = () => {
    at += random.below(HOUR_MS) + 1
    const id = `${made++}`
    switch (
      random.oneOf(["credit", "use", "use", "use", "correct", "void", "voidCredit", "reserve", "commit", "release"])
    ) {
      case "credit":
        ledger.addCredit({
          id,
          amount: random.oneOf(amounts),
          priority: random.below(3),
          startsAt: new Date(at + random.oneOf([0, 0, -HOUR_MS, 2 * HOUR_MS])),
          expiresAt: random.isOnceIn(2) ? null : new Date(at + 3 * HOUR_MS + random.below(20 * HOUR_MS)),
          createdAt: now(),
        })
        break
      case "use":
        if (ledger.use(id, random.oneOf(amounts), timestamp(), now()).status === 200) uses.push(id)
        break
      case "correct":
        if (ledger.use(id, `-${random.oneOf(amounts)}`, timestamp(), now()).status === 200) uses.push(id)
        break
      case "void":
        if (uses.length > 0) ledger.voidUse(uses.splice(random.below(uses.length), 1)[0] ?? "")
        break
      case "voidCredit":
        if (random.isOnceIn(4)) ledger.voidCredit(`${random.below(made)}`, now())
        break
      case "reserve":
        if (ledger.reserve(id, random.oneOf(amounts), random.below(7200) + 1, now()).status === 201)
          reservations.push(id)
        break
      case "commit":
        ledger.commit(reservations.splice(0, 1)[0] ?? "", undefined, now())
        break
      case "release":
        ledger.release(reservations.splice(0, 1)[0] ?? "", now())
    }
  }
  return { ledger, now, step }
}

describe("credits, over random histories", () => {
  it("are never used below 0 nor above their amount, at any instant of the past either", () => {
    const random = makeRandom(20_261_128)
    for (let run = 0; run < RUNS; run++) {
      const { ledger, now, step } = randomHistory(random)
      for (let number = 0; number < STEPS; number++) step()
      for (const at of [now(), new Date(START + random.below(STEPS * HOUR_MS))]) {
        for (const [id, { amount, used }] of Object.entries(ledger.usedAt(at, now()))) {
          assert.isTrue(BigDecimal.isGreaterThanOrEqualTo(used, BigDecimal.fromNumberUnsafe(0)), `run ${run}: ${id}`)
          assert.isTrue(BigDecimal.isLessThanOrEqualTo(used, amount), `run ${run}: ${id}`)
        }
      }
    }
  })

  it("and the limit: what a check says is left can be used, and a digit more cannot, but by overage", () => {
    const random = makeRandom(20_261_129)
    let checked = 0
    for (let run = 0; run < RUNS; run++) {
      const { ledger, now, step } = randomHistory(random)
      for (let number = 0; number < STEPS; number++) step()
      const before = ledger.check("0", now(), now())
      if (before.limit === null || before.remaining === null || !BigDecimal.isPositive(number(before.remaining)))
        continue
      checked++
      const more = BigDecimal.format(BigDecimal.sum(number(before.remaining), number("0.0001")))
      assert.strictEqual(ledger.check(before.remaining, now(), now()).reason, "GRANTED", `run ${run}`)
      assert.notStrictEqual(ledger.check(more, now(), now()).reason, "GRANTED", `run ${run}`)
      assert.strictEqual(ledger.use("last", before.remaining, now(), now()).status, 200, `run ${run}`)
      assert.strictEqual(ledger.check("0", now(), now()).remaining, "0", `run ${run}`)
      // A void after a use leaves all as it was before.
      ledger.voidUse("last")
      assert.deepStrictEqual(ledger.check("0", now(), now()), before, `run ${run}`)
    }
    assert.isAbove(checked, RUNS / 3)
  })
})
