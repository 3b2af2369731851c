import { assert, describe, it } from "@effect/vitest"
import { checkUsage } from "./support/UsageChecker.ts"
import type { StoredUsage, UsageEvidence, UsageOperation } from "./support/UsageChecker.ts"

const used = (marker: string, more: Partial<UsageOperation> = {}): UsageOperation => ({
  marker,
  kind: "transaction",
  instance: "site",
  value: 3,
  outcome: "acknowledged",
  attempts: 2,
  cut: 1,
  usage: 3,
  replay: { status: 200, isReplay: true },
  ...more,
})

const storedOf = (value: number, count: number, markers: ReadonlyArray<string>): StoredUsage => ({
  instance: "site",
  answers: [
    { value, count },
    { value, count },
  ],
  markers,
})

const rejected = used("three", { outcome: "rejected", usage: null, replay: null })

const consistent: UsageEvidence = {
  cap: 10,
  operations: [
    used("one"),
    used("two", { kind: "key", usage: 6 }),
    rejected,
    used("four", { kind: "consume", usage: 9 }),
  ],
  // A consuming check stores no marker.
  stored: [storedOf(9, 3, ["one", "two"])],
}

const violated = (change: Partial<UsageEvidence>) => [
  ...new Set(checkUsage({ ...consistent, ...change }).map(({ invariant }) => invariant)),
]

const unknown = used("three", { outcome: "unknown", usage: null, replay: null })

describe("the checker of usage", () => {
  it("consistent evidence has no violations", () => {
    assert.deepStrictEqual(checkUsage(consistent), [])
  })

  it("a use without a response may be stored or not, but is a violation itself", () => {
    const operations = [used("one"), unknown]
    assert.deepStrictEqual(violated({ operations, stored: [storedOf(3, 1, ["one"])] }), ["U4"])
    assert.deepStrictEqual(violated({ operations, stored: [storedOf(6, 2, ["one", "three"])] }), ["U4"])
    assert.deepStrictEqual(violated({ operations, stored: [storedOf(9, 3, ["one", "three", "three"])] }), ["U4", "U3"])
  })

  it.each<readonly [name: string, change: Partial<UsageEvidence>, expected: ReadonlyArray<string>]>([
    ["a total above the cap", { cap: 8 }, ["U1"]],
    [
      "a response above the cap",
      { operations: [used("one", { usage: 11 }), ...consistent.operations.slice(1)] },
      ["U1"],
    ],
    ["an acknowledged report that is not stored", { stored: [storedOf(6, 2, ["one"])] }, ["U2"]],
    ["an acknowledged report without its row", { stored: [storedOf(9, 3, ["one"])] }, ["U2"]],
    ["an acknowledged check that is not stored", { stored: [storedOf(6, 2, ["one", "two"])] }, ["U2"]],
    ["an instance without usage", { stored: [] }, ["U2"]],
    ["a report that is counted twice", { stored: [storedOf(12, 4, ["one", "one", "two"])], cap: 20 }, ["U3"]],
    ["a check that is counted twice", { stored: [storedOf(12, 4, ["one", "two"])], cap: 20 }, ["U3"]],
    ["a total with a part of another use", { stored: [storedOf(9.5, 3, ["one", "two"])] }, ["U3"]],
    [
      "a rejected report that is stored in place of a check",
      { stored: [storedOf(9, 3, ["one", "two", "three"])] },
      ["U3"],
    ],
    ["a report that nobody sent", { stored: [storedOf(9, 3, ["one", "two", "five"])] }, ["U3"]],
    [
      "two nodes that return different totals",
      {
        stored: [
          {
            ...storedOf(9, 3, ["one", "two"]),
            answers: [
              { value: 9, count: 3 },
              { value: 6, count: 2 },
            ],
          },
        ],
      },
      ["U2"],
    ],
    [
      "a retry through another node that is rejected",
      { operations: [used("one", { replay: { status: 422, isReplay: false } }), ...consistent.operations.slice(1)] },
      ["U4"],
    ],
    [
      "a retry through another node that runs again",
      { operations: [used("one", { replay: { status: 200, isReplay: false } }), ...consistent.operations.slice(1)] },
      ["U4"],
    ],
  ])("%s is a violation", (_, change, expected) => {
    assert.deepStrictEqual(violated(change), expected)
  })
})
