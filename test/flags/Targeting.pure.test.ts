import { assert, describe, it } from "@effect/vitest"
import { operators } from "../../src/domains/flags/Model.ts"
import type { Operator } from "../../src/domains/flags/Model.ts"
import { holds, readPath } from "../../src/offline/Flags.ts"

const context = {
  targetingKey: "anna",
  plan: "pro",
  seats: 5,
  beta: false,
  nothing: null,
  tags: ["a", "b"],
  version: "1.10.0",
  nightly: "99999999999999999999.0.0-rc.9007199254740993",
  lowerCase: "2026-01-31t09:00:00.1234567891z",
  since: "2026-01-31T10:00:00+01:00",
  user: { address: { country: "CH" } },
  "dotted.name": 1,
  essay: "pro ".repeat(5_000),
  crowd: Array.from({ length: 2_000 }, () => "a"),
  longVersion: `2.0.0-${"a.".repeat(400_000)}a`,
}

const table: ReadonlyArray<readonly [attribute: string, Operator, values: ReadonlyArray<unknown>, expected: boolean]> =
  [
    ["plan", "EQUALS", ["pro"], true],
    ["plan", "EQUALS", ["Pro"], false],
    ["seats", "EQUALS", ["5"], false],
    ["beta", "EQUALS", [false], true],
    ["absent", "EQUALS", ["x"], false],
    ["essay", "CONTAINS", ["pro"], false],
    ["essay", "EXISTS", [], true],
    ["essay", "NOT_EQUALS", ["x"], true],
    ["crowd", "CONTAINS", ["a"], false],
    ["crowd", "EXISTS", [], true],
    ["longVersion", "SEMVER_GT", ["1.0.0"], false],
    ["plan", "NOT_EQUALS", ["free"], true],
    ["plan", "NOT_EQUALS", ["pro"], false],
    ["absent", "NOT_EQUALS", ["x"], true],
    ["plan", "IN", ["free", "pro"], true],
    ["plan", "IN", ["free"], false],
    ["targetingKey", "IN", ["anna", "bob"], true],
    ["plan", "NOT_IN", ["free"], true],
    ["plan", "NOT_IN", ["pro", "free"], false],
    ["absent", "NOT_IN", ["x"], true],
    ["plan", "CONTAINS", ["ro"], true],
    ["plan", "CONTAINS", ["x", "pr"], true],
    ["plan", "CONTAINS", ["x"], false],
    ["tags", "CONTAINS", ["b"], true],
    ["tags", "CONTAINS", ["c"], false],
    ["seats", "CONTAINS", ["5"], false],
    ["plan", "STARTS_WITH", ["p"], true],
    ["plan", "STARTS_WITH", ["r", "o"], false],
    ["plan", "ENDS_WITH", ["ro"], true],
    ["plan", "ENDS_WITH", ["pr"], false],
    ["seats", "GT", [4], true],
    ["seats", "GT", [5], false],
    ["plan", "GT", [4], false],
    ["seats", "GTE", [5], true],
    ["seats", "GTE", [5.5], false],
    ["seats", "LT", [6], true],
    ["seats", "LT", [5], false],
    ["absent", "LT", [5], false],
    ["seats", "LTE", [5], true],
    ["seats", "LTE", [4], false],
    ["version", "SEMVER_GT", ["1.9.0"], true],
    ["version", "SEMVER_GT", ["1.10.0"], false],
    ["plan", "SEMVER_GT", ["1.0.0"], false],
    ["nightly", "SEMVER_GT", ["1.0.0"], true],
    ["nightly", "SEMVER_GT", ["99999999999999999999.0.0-rc.9007199254740992"], true],
    ["nightly", "SEMVER_LT", ["99999999999999999999.0.0"], true],
    ["nightly", "SEMVER_LTE", ["99999999999999999998.9.9"], false],
    ["lowerCase", "AFTER", ["2026-01-31T09:00:00.122Z"], true],
    ["lowerCase", "BEFORE", ["2026-01-31t09:00:00.124z"], true],
    ["version", "SEMVER_GTE", ["1.10.0"], true],
    ["version", "SEMVER_GTE", ["2.0.0-beta.1"], false],
    ["version", "SEMVER_LT", ["1.11.0-rc.1"], true],
    ["version", "SEMVER_LT", ["1.10.0-rc.1"], false],
    ["version", "SEMVER_LTE", ["1.10.0+build"], true],
    ["version", "SEMVER_LTE", ["1.9.9"], false],
    ["since", "BEFORE", ["2026-01-31T09:00:01Z"], true],
    ["since", "BEFORE", ["2026-01-31T09:00:00Z"], false],
    ["since", "AFTER", ["2026-01-31T08:59:59Z"], true],
    ["plan", "AFTER", ["2026-01-31T08:59:59Z"], false],
    ["plan", "EXISTS", [], true],
    ["plan", "EXISTS", [false], false],
    ["nothing", "EXISTS", [true], false],
    ["absent", "EXISTS", [false], true],
    ["user.address.country", "EQUALS", ["CH"], true],
    ["user.address.city", "EXISTS", [], false],
    ["dotted.name", "EQUALS", [1], true],
    ["constructor.name", "EXISTS", [], false],
    ["plan.length", "EXISTS", [], false],
  ]

describe("targeting conditions", () => {
  for (const [attribute, operator, values, expected] of table) {
    it(`${attribute} ${operator} ${JSON.stringify(values)} is ${expected}`, () => {
      assert.strictEqual(holds({ attribute, operator, values }, readPath(context, attribute)), expected)
    })
  }

  it("with an operator of a later release never match", () => {
    for (const operator of ["MATCHES", "constructor", ""]) {
      assert.isFalse(holds({ attribute: "plan", operator, values: ["pro"] }, "pro"))
    }
  })

  it("the table covers every operator", () => {
    assert.deepStrictEqual([...new Set(table.map(([, operator]) => operator))].sort(), [...operators].sort())
  })
})
