import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, BigDecimal, Schema } from "effect"
import { afterLines, refill } from "../../../src/domains/usage/tranches/Rules.ts"
import type { RefillRequest, Room } from "../../../src/domains/usage/tranches/Rules.ts"
import { decimal } from "../meters.ts"

const text = BigDecimal.format
const zero = decimal("0")

interface Given {
  readonly cap?: string | null
  readonly usage?: string
  readonly others?: string
  readonly holders?: number
  readonly unspent?: string
  readonly keep?: string
  readonly need?: string
  readonly want?: string
}

const refilled = ({ cap = "100", holders = 1, others, ...given }: Given) => {
  const amount = (sent = "0") => decimal(sent)
  const room = { cap: cap === null ? null : decimal(cap), usage: amount(given.usage), heldByOthers: amount(others) }
  const asked = {
    unspent: amount(given.unspent),
    keep: amount(given.keep),
    need: amount(given.need),
    want: amount(given.want),
  }
  const { granted, returned, satisfied, unspent } = refill({ ...room, holders }, asked)
  return { unspent: text(unspent), granted: text(granted), returned: text(returned), satisfied }
}

describe("a refill", () => {
  it("grants what is needed if it fits, and nothing of it otherwise", () => {
    assert.deepInclude(refilled({ cap: "10", usage: "3", others: "3", need: "4" }), { unspent: "4", satisfied: true })
    assert.deepInclude(refilled({ cap: "10", usage: "3", others: "3", need: "4.1" }), {
      unspent: "0",
      satisfied: false,
    })
    assert.deepInclude(refilled({ cap: "10", usage: "9.5", need: "0.5" }), { unspent: "0.5", satisfied: true })
  })

  it("counts what is kept as a part of the need, and as held", () => {
    assert.deepInclude(refilled({ cap: "10", usage: "3", unspent: "5", keep: "5", need: "7" }), {
      unspent: "7",
      granted: "2",
      satisfied: true,
    })
    assert.deepInclude(refilled({ cap: "10", usage: "3", unspent: "5", keep: "5", need: "7.1" }), {
      unspent: "5",
      satisfied: false,
    })
  })

  it("keeps at most what the service stored", () => {
    assert.deepStrictEqual(refilled({ unspent: "5", keep: "9" }), {
      unspent: "5",
      granted: "0",
      returned: "0",
      satisfied: true,
    })
  })

  it.each([
    [1, "100", "5"],
    [10, "100", "5"],
    [11, "220", "10"],
    [50, "1000", "10"],
  ])("of %d holders grants a wish a part of %s free units: %s", (holders, cap, expected) => {
    assert.deepInclude(refilled({ cap, holders, want: "1000" }), { unspent: expected, satisfied: true })
  })

  it("grants a wish nothing below 20 free units, so that the last unit is for a need", () => {
    assert.deepInclude(refilled({ cap: "19.9", want: "10" }), { unspent: "0" })
    assert.deepInclude(refilled({ cap: "20", want: "10" }), { unspent: "1" })
    assert.deepInclude(refilled({ cap: "20", usage: "19", need: "1", want: "10" }), { unspent: "1", satisfied: true })
  })

  it("grants a part of the wish even if the need does not fit", () => {
    assert.deepInclude(refilled({ cap: "100", need: "101", want: "101" }), { unspent: "5", satisfied: false })
  })

  it("of what is unlimited grants nothing and needs nothing", () => {
    assert.deepStrictEqual(refilled({ cap: null, unspent: "7", keep: "3", need: "9", want: "9" }), {
      unspent: "3",
      granted: "0",
      returned: "4",
      satisfied: true,
    })
  })

  it("leaves what is kept where the limit is lower now, and grants no more", () => {
    assert.deepStrictEqual(refilled({ cap: "0", usage: "50", unspent: "5", keep: "4", need: "4", want: "9" }), {
      unspent: "4",
      granted: "0",
      returned: "1",
      satisfied: true,
    })
  })
})

const tenths = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 5000 }))
const holders = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 60 }))
const units = Schema.Struct({ cap: tenths, usage: tenths, others: tenths, unspent: tenths, keep: tenths })
const asked = Schema.Struct({ need: tenths, want: tenths, holders })
const amount = (count: number) => BigDecimal.make(BigInt(count), 1)
const isAtMost = BigDecimal.isLessThanOrEqualTo

describe("any refill", () => {
  it.prop(
    "brings usage and holds above the cap never further, grants a need that fits, and satisfies only those that hold it",
    { stored: Arbitrary.schema(units), sent: Arbitrary.schema(asked) },
    ({ sent, stored }) => {
      const room: Room = {
        cap: amount(stored.cap),
        usage: amount(stored.usage),
        heldByOthers: amount(stored.others),
        holders: sent.holders,
      }
      const request: RefillRequest = {
        unspent: amount(stored.unspent),
        keep: amount(stored.keep),
        need: amount(sent.need),
        want: amount(sent.want),
      }
      const { granted, returned, satisfied, unspent } = refill(room, request)
      const kept = BigDecimal.min(request.keep, request.unspent)
      const taken = BigDecimal.sumAll([room.usage, room.heldByOthers, kept])
      const free = BigDecimal.max(zero, BigDecimal.subtract(amount(stored.cap), taken))
      assert.isTrue(isAtMost(zero, granted) && isAtMost(granted, free))
      assert.isTrue(isAtMost(unspent, BigDecimal.max(kept, BigDecimal.max(request.need, request.want))))
      assert.strictEqual(text(unspent), text(BigDecimal.sum(kept, granted)))
      assert.strictEqual(text(BigDecimal.sum(kept, returned)), text(request.unspent))
      if (satisfied) assert.isTrue(isAtMost(request.need, unspent))
      const isWhole = [kept, request.need, request.want].every((each) => BigDecimal.normalize(each).scale <= 0)
      if (isWhole) assert.isAtMost(BigDecimal.normalize(granted).scale, 0)
      assert.strictEqual(satisfied, isAtMost(BigDecimal.subtract(request.need, kept), free))
    },
    { arbitrary: { runs: 1000 } },
  )
})

describe("what is left of a tranche after lines", () => {
  it.each([
    ["10", "4", "6"],
    ["10", "10", "0"],
    ["10", "11", "0"],
    ["10", "-3", "10"],
    ["0", "-3", "0"],
  ])("of %s, with %s spent, is %s", (unspent, spent, expected) => {
    assert.strictEqual(text(afterLines(decimal(unspent), decimal(spent))), expected)
  })
})
