import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import {
  aggregationMethods,
  entitlementTypes,
  resetAnchors,
  resetPeriods,
} from "../../src/domains/entitlements/Model.ts"
import { changed, measurementOf, misplacedMeasurement } from "../../src/domains/entitlements/Rules.ts"

const sent = <A extends string | number | boolean | null>(schema: Schema.Codec<A>) =>
  Schema.optionalKey(Schema.NullOr(schema))

const measured = {
  type: Schema.Literals(entitlementTypes),
  aggregationMethod: sent(Schema.Literals(aggregationMethods)),
  resetPeriod: sent(Schema.Literals(resetPeriods)),
  resetAnchor: sent(Schema.Literals(resetAnchors)),
}

describe("how an entitlement is measured", () => {
  it.prop("as asked, with defaults, if it is a number", { asked: Schema.Struct(measured) }, ({ asked }) => {
    const input = { ...asked, name: "API calls", type: "NUMBER" } as const
    assert.deepStrictEqual(misplacedMeasurement(input), [])
    assert.deepStrictEqual(measurementOf(input), {
      aggregationMethod: asked.aggregationMethod ?? "SUM",
      resetPeriod: asked.resetPeriod ?? null,
      resetAnchor: asked.resetAnchor ?? "CALENDAR",
    })
  })

  it.prop("not at all, if it is none, and asking is a fault each", { asked: Schema.Struct(measured) }, ({ asked }) => {
    if (asked.type === "NUMBER") return
    const input = { ...asked, name: "Single sign-on" }
    const misplaced = [asked.aggregationMethod, asked.resetPeriod, asked.resetAnchor].filter(
      (value) => value !== undefined && value !== null,
    )
    assert.deepStrictEqual(
      misplacedMeasurement(input).map((fault) => fault.value),
      misplaced,
    )
    assert.deepStrictEqual(measurementOf(input), { aggregationMethod: null, resetPeriod: null, resetAnchor: null })
  })
})

const change = Schema.Struct({
  description: sent(Schema.String),
  saleUnitFactor: sent(Schema.Finite),
  displayOrder: sent(Schema.Int),
  userFacing: sent(Schema.Boolean),
  warningThresholdPercent: sent(Schema.Int),
})

describe("what changes", () => {
  it.prop("nothing, if nothing is sent", { first: change }, ({ first }) => {
    assert.deepStrictEqual(changed({}, changed(first)), changed(first))
  })

  it.prop("what is sent, and nothing else", { first: change, second: change }, ({ first, second }) => {
    assert.deepStrictEqual(changed(second, changed(first)), changed({ ...first, ...second }))
  })

  it("a member that is cleared has its default", () => {
    const cleared = { description: null, displayOrder: null, userFacing: null, icon: null }
    const before = changed({ description: "Calls", displayOrder: 4, userFacing: false, icon: "phone" })
    assert.deepStrictEqual(changed(cleared, before), changed({}))
    assert.containSubset(changed({}), { description: null, displayOrder: 0, userFacing: true, icon: null })
  })
})
