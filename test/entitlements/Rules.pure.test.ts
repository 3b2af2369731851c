import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import {
  aggregationMethods,
  entitlementTypes,
  resetAnchors,
  resetPeriods,
} from "../../src/domains/entitlements/Model.ts"
import { applyChanges, measurementOf, measurementErrors } from "../../src/domains/entitlements/Rules.ts"

const sent = <A extends string | number | boolean | null>(schema: Schema.Codec<A>) =>
  Schema.optionalKey(Schema.NullOr(schema))

const measured = {
  type: Schema.Literals(entitlementTypes),
  aggregationMethod: sent(Schema.Literals(aggregationMethods)),
  resetPeriod: sent(Schema.Literals(resetPeriods)),
  resetAnchor: sent(Schema.Literals(resetAnchors)),
}

describe("the measurement of an entitlement", () => {
  it.prop(
    "is the requested one with defaults, if the type is NUMBER",
    { requested: Schema.Struct(measured) },
    ({ requested }) => {
      const input = { ...requested, name: "API calls", type: "NUMBER" } as const
      assert.deepStrictEqual(measurementErrors(input), [])
      assert.deepStrictEqual(measurementOf(input), {
        aggregationMethod: requested.aggregationMethod ?? "SUM",
        resetPeriod: requested.resetPeriod ?? null,
        resetAnchor: requested.resetAnchor ?? "CALENDAR",
      })
    },
  )

  it.prop(
    "is null for other types, and each requested property is a validation error",
    { requested: Schema.Struct(measured) },
    ({ requested }) => {
      if (requested.type === "NUMBER") return
      const input = { ...requested, name: "Single sign-on" }
      const misplaced = [requested.aggregationMethod, requested.resetPeriod, requested.resetAnchor].filter(
        (value) => value !== undefined && value !== null,
      )
      assert.deepStrictEqual(
        measurementErrors(input).map((error) => error.value),
        misplaced,
      )
      assert.deepStrictEqual(measurementOf(input), { aggregationMethod: null, resetPeriod: null, resetAnchor: null })
    },
  )
})

const change = Schema.Struct({
  description: sent(Schema.String),
  saleUnitFactor: sent(Schema.Finite),
  displayOrder: sent(Schema.Int),
  userFacing: sent(Schema.Boolean),
  warningThresholdPercent: sent(Schema.Int),
})

describe("an update of an entitlement", () => {
  it.prop("without properties changes nothing", { first: change }, ({ first }) => {
    assert.deepStrictEqual(applyChanges({}, applyChanges(first)), applyChanges(first))
  })

  it.prop("changes the sent properties and no others", { first: change, second: change }, ({ first, second }) => {
    assert.deepStrictEqual(applyChanges(second, applyChanges(first)), applyChanges({ ...first, ...second }))
  })

  it("resets a property to its default on null", () => {
    const cleared = { description: null, displayOrder: null, userFacing: null, icon: null }
    const before = applyChanges({ description: "Calls", displayOrder: 4, userFacing: false, icon: "phone" })
    assert.deepStrictEqual(applyChanges(cleared, before), applyChanges({}))
    assert.containSubset(applyChanges({}), { description: null, displayOrder: 0, userFacing: true, icon: null })
  })
})
