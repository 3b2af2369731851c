import { assert, describe, it } from "@effect/vitest"
import { BigDecimal } from "effect"
import type { Meter } from "../../src/domains/usage/ledger/Model.ts"
import type { ReportUsage } from "../../src/domains/usage/reports/Model.ts"
import {
  bodyValidationError,
  eventOf,
  rejectionProblem,
  reportedValue,
  reportValidationError,
} from "../../src/domains/usage/reports/Rules.ts"
import { platformIdentity } from "../../src/kernel/contract/Caller.ts"
import { accountWith, after, meterWith, START } from "./meters.ts"

describe("a report", () => {
  it.each([
    ["of a BOOLEAN", { type: "BOOLEAN", aggregationMethod: null }, { value: 1 }, "path.entitlementSlug"],
    ["without a value", {}, {}, "body.value"],
    ["with a value", {}, { value: 1 }, undefined],
    ["of a COUNT without a value", { aggregationMethod: "COUNT" }, {}, undefined],
    ["that sets a COUNT without a value", { aggregationMethod: "COUNT" }, { behavior: "set" }, "body.value"],
    ["of a UNIQUE_COUNT without a key", { aggregationMethod: "UNIQUE_COUNT" }, {}, "body.uniqueKey"],
    ["of a UNIQUE_COUNT with a key", { aggregationMethod: "UNIQUE_COUNT" }, { uniqueKey: "a" }, undefined],
    [
      "that sets a UNIQUE_COUNT",
      { aggregationMethod: "UNIQUE_COUNT" },
      { uniqueKey: "a", behavior: "set" },
      "body.behavior",
    ],
  ] as ReadonlyArray<readonly [string, Partial<Meter>, ReportUsage, string | undefined]>)(
    "%s has the error %s",
    (_, more, report, location) => {
      const meter = meterWith(more)
      assert.strictEqual(bodyValidationError(meter, report)?.location, location)
      assert.strictEqual(reportValidationError(meter, report, START, START)?.location, location)
      const late = reportValidationError(meter, report, after(-1), START)
      assert.strictEqual(late?.location, location ?? "body.timestamp")
    },
  )

  it("has its value as a number, or as an object with one", () => {
    const values = [{ value: 2 }, { value: { type: "number", value: 3 } }, {}] as const
    assert.deepStrictEqual(
      values.map(reportedValue).map((value) => value && BigDecimal.format(value)),
      ["2", "3", undefined],
    )
  })

  it("is an event that appends 0 without a key if it says nothing else", () => {
    const event = eventOf({}, START, platformIdentity)
    assert.deepInclude(event, { behavior: "append", uniqueKey: null, metadata: null, transactionId: undefined })
    assert.isTrue(BigDecimal.isZero(event.value))
    const sent = { behavior: "set", uniqueKey: "a", metadata: { b: 1 }, transactionId: "t", value: 5 } as const
    const { behavior, metadata, transactionId, uniqueKey, value } = eventOf(sent, START, platformIdentity)
    assert.deepStrictEqual(
      { behavior, metadata, transactionId, uniqueKey, value: BigDecimal.toNumberUnsafe(value) },
      sent,
    )
  })

  it.each([
    ["negative", "ValidationFailed"],
    ["lowering", "Auth.MissingScope"],
    ["cap", "ReportUsage.ThresholdExceeded"],
    ["not-granted", "ReportUsage.ThresholdExceeded"],
  ] as const)("that is rejected as %s has a problem of its own", (rejection, code) => {
    const problem = rejectionProblem(rejection, accountWith(meterWith()), { value: -1 }, START)
    assert.include(JSON.stringify(problem), code)
  })
})
