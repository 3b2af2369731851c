import { assert, describe, it } from "@effect/vitest"
import { differences } from "../../../src/cli/upgrade/Answers.ts"
import { planned, planText } from "../../../src/cli/upgrade/PlanText.ts"
import { released, wayTo } from "../../../src/cli/upgrade/Way.ts"
import { knownMigrations } from "../../../src/cli/database/Schema.ts"

const releases = [
  { version: "0.2.0", migration: "0003_c" },
  { version: "0.2.1", migration: "0003_c" },
  { version: "0.3.0", migration: "0005_e" },
  { version: "0.3.1", migration: "0006_f" },
  { version: "0.4.0", migration: "0008_h" },
]

const way = (
  to: string,
  newest: string,
  rest: { skipped?: ReadonlyArray<string>; newer?: ReadonlyArray<string> } = {},
) => wayTo(to, { newest, skipped: [], newer: [], ...rest }, releases)

describe("the way of an upgrade", () => {
  it("is supported to the next minor version, and within one, from any of its patches", () => {
    assert.deepStrictEqual(way("0.3.0", "0003_c"), { from: "0.2.1", to: "0.3.0", obstacle: null })
    assert.isNull(way("0.3.1", "0005_e").obstacle)
    assert.isNull(way("0.4.0", "0006_f").obstacle)
    assert.isNull(way("0.5.0", "0008_h").obstacle)
    assert.isNull(way("0.2.1", "0003_c").obstacle)
  })

  it("over a minor version is not, and names the newest patch of the one that comes between", () => {
    assert.strictEqual(way("0.4.0", "0003_c").obstacle, "0.3.1 comes between: upgrade to it first, then to 0.4.0.")
    assert.strictEqual(way("1.0.0", "0003_c").obstacle, "0.3.1 comes between: upgrade to it first, then to 1.0.0.")
  })

  it("from a database that is ahead, or that skipped a migration, is not", () => {
    assert.match(way("0.3.0", "0005_e", { newer: ["0006_f"] }).obstacle ?? "", /ahead of this version: it has 0006_f/)
    assert.match(way("0.3.0", "0005_e", { skipped: ["0004_d"] }).obstacle ?? "", /0004_d was skipped/)
  })
})

describe("the list of released versions", () => {
  it("is in order, and names commits with their newest migration", () => {
    const migrations = released.map(({ migration }) => migration)
    assert.deepStrictEqual(migrations, [...migrations].sort())
    for (const migration of migrations) assert.include(knownMigrations, migration)
    assert.deepStrictEqual(released[0]?.version, "0.2.0-baseline")
  })
})

describe("the plan of a migration", () => {
  const impact = {
    locks: [{ table: "customers", mode: "SHARE" }],
    reads: ["customers", "instances"],
    millisecondsPerMillionRows: 20_000,
    before: ["CREATE INDEX CONCURRENTLY a ON b (c)"],
    until: "Sell no add-on.",
  } as const

  it("estimates its time from the rows of the tables that it reads", () => {
    const migration = planned("0006_search_words", impact, (table) => (table === "customers" ? 400_000 : 100_000))
    assert.strictEqual(migration.estimatedMs, 10_000)
    const text = planText({
      from: "0.2.0",
      to: "0.3.0",
      obstacle: null,
      migrations: [migration],
      invalidIndexes: ["a"],
    })
    for (const part of [
      "From 0.2.0 to 0.3.0: this upgrade is supported.",
      "locks until the last migration ends: customers (SHARE)",
      "reads: customers (400000 rows), instances (100000 rows)",
      "estimated time: 10000 ms",
      "can run before, while the old version serves: CREATE INDEX CONCURRENTLY a ON b (c);",
      "until all processes are replaced: Sell no add-on.",
      "a is invalid",
      "1 pending, in one transaction of about 10000 ms. Nothing was changed.",
    ]) {
      assert.include(text, part)
    }
  })
})

describe("the comparison of two answers", () => {
  const question = { organization: "acme", instance: "prod", entitlement: "calls", requested: 1 }
  const answer = { allowed: true, limit: 5, checks: [{ a: 1 }] }

  it("finds what changed and what is gone", () => {
    const before = { ...question, answer }
    assert.deepStrictEqual(differences(before, { ...answer, allowed: false }), [
      { ...question, before: answer, after: { ...answer, allowed: false } },
    ])
    const { limit: _, ...without } = answer
    assert.strictEqual(differences(before, without).length, 1)
    assert.strictEqual(differences(before, { ...answer, checks: [{ a: 2 }] }).length, 1)
    assert.strictEqual(differences(before, { error: "InstanceNotFound" }).length, 1)
  })

  it("accepts a property that the newer version adds", () => {
    assert.deepStrictEqual(differences({ ...question, answer }, { ...answer, credits: 3 }), [])
  })
})
