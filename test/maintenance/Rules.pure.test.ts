import { assert, describe, it } from "@effect/vitest"
import { Option, Result } from "effect"
import { headerFault } from "../../src/domains/maintenance/moving/HeaderRules.ts"
import {
  differences,
  FORMAT,
  FORMAT_VERSION,
  isRow,
  keyFaults,
  parseLine,
  ruleOf,
} from "../../src/domains/maintenance/moving/MoveRules.ts"
import type { Header } from "../../src/domains/maintenance/moving/MoveRules.ts"
import { isFitting } from "../../src/domains/maintenance/SecretKeyRules.ts"
import type { Secrets } from "../../src/kernel/ports/KeyRing.ts"
import { organizationIdOf } from "../support/organizationIds.ts"

describe("a secret key fits a database", () => {
  const opening = (tried: number, opened: number) => ({ what: "w", key: "k", tried, opened })
  it.each([
    ["same", [opening(1, 0)], true],
    ["different", [opening(1, 1)], false],
    ["none", [], true],
    ["none", [opening(0, 0)], true],
    ["none", [opening(1, 0)], false],
    ["none", [opening(1, 0), opening(0, 0)], false],
    ["none", [opening(1, 0), opening(2, 1)], true],
  ] as const)("by its check value, otherwise by what it opens: %s, %j", (check, openings, expected) => {
    assert.strictEqual(isFitting(check, openings), expected)
  })
})

describe("the secret keys of a file", () => {
  const own = new Map([["a", "11"]])
  it.each([
    [[], true],
    [[{ id: "a", check: null }], true],
    [[{ id: "a", check: "11" }], true],
    [[{ id: "a", check: "12" }], false],
    [[{ id: "b", check: null }], false],
    [
      [
        { id: "a", check: "11" },
        { id: "b", check: null },
      ],
      false,
    ],
  ])("are those of the installation: %j", (needed, expected) => {
    assert.strictEqual(Result.isSuccess(keyFaults(needed, own)), expected)
  })
})

describe("the tables of two sides", () => {
  const table = (rows: number, digest = "d") => ({ rows, digest })
  it("differ in rows, in digests, or because one is missing", () => {
    const expected = { a: table(1), b: table(1), c: table(1), e: table(0) }
    const found = { a: table(1), b: table(2), c: table(1, "x"), d: table(0) }
    assert.deepStrictEqual(differences(expected, found), ["b", "c", "d", "e"])
    assert.deepStrictEqual(differences(expected, expected), [])
  })

  it("are copied unless a rule says otherwise", () => {
    assert.deepStrictEqual(ruleOf("customers"), {})
    assert.isTrue(ruleOf("webhook_outbox").isLive)
  })
})

describe("a line of the file", () => {
  it("is a row, a table, the end or a header, and nothing else", () => {
    const partition = (name: string, bounds: string) =>
      JSON.stringify({ table: "t", columns: ["a"], partitions: [{ name, bounds }] })
    const parsed = (text: string) => Option.isSome(parseLine(text))
    assert.isTrue(parsed(partition("p".repeat(63), "FOR VALUES FROM (MINVALUE) TO ('2026-01-01')")))
    assert.isTrue(parsed(partition("p", "DEFAULT")))
    assert.isFalse(parsed(partition("p".repeat(64), "DEFAULT")))
    assert.isFalse(parsed(partition("", "DEFAULT")))
    assert.isFalse(parsed(partition("p", "DEFAULT; DROP")))
    assert.isTrue(parsed(JSON.stringify({ digests: {}, seal: "0".repeat(64) })))
    assert.isFalse(parsed(JSON.stringify({ digests: {}, seal: "0".repeat(63) })))
    assert.isFalse(parsed("[1]"))
    assert.isFalse(parsed("{}"))
    assert.isTrue(isRow(Option.getOrThrow(parseLine('["a",null]'))))
    assert.isFalse(isRow(Option.getOrThrow(parseLine(partition("p", "DEFAULT")))))
  })
})

describe("the header of a file", () => {
  const header: Header = {
    format: FORMAT,
    version: FORMAT_VERSION,
    organization: { id: organizationIdOf("o"), slug: "acme" },
    exportedAt: "2026-01-31T09:00:00.000Z",
    migrations: ["1", "2"],
    keys: [{ id: "a", check: "0b" }],
    sealedWith: "a",
    connectors: ["crm"],
  }
  const secrets = { keysFor: () => [{ id: "a", bytes: Uint8Array.of(11) }] } as unknown as Secrets["Service"]
  const destination = { migrations: ["2", "1"], secrets, connectors: new Set(["crm", "billing"]) }
  const fault = (more: Partial<Header>, changes = {}) =>
    headerFault({ ...header, ...more }, { ...destination, ...changes })

  it("fits an installation that has the same version, schema, keys and connectors", () => {
    assert.isUndefined(fault({}))
    assert.isUndefined(fault({ connectors: [] }))
  })

  it.each([
    ["an older version", { version: 1 }, {}, /^The file has version 1 of the format; this Keyshelf reads 2\./],
    ["a newer version", { version: 3 }, {}, /^The file has version 3 /],
    ["more migrations", { migrations: ["1", "2", "3"] }, {}, /: 3 is missing here\./],
    ["fewer migrations", { migrations: ["1"] }, {}, /: 2 is missing at the source\./],
    ["another key", { keys: [{ id: "a", check: "0c" }] }, {}, /"a" of this installation is another one/],
    ["the seal of a key that is not here", { sealedWith: "b" }, {}, /needs the secret key "b"/],
    ["a connector that is not here", {}, { connectors: new Set() }, /does not have: crm\./],
  ])("says why it cannot be imported with %s", (_, more, changes, expected) => {
    assert.match(fault(more, changes) ?? "", expected)
  })
})
