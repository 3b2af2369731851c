import { assert, describe, it } from "@effect/vitest"
import { endOf, intersectScopes } from "../../src/domains/people/Rules.ts"

describe("two lists of scopes", () => {
  it.each([
    ["write:customers", "read:*", ["read:customers"]],
    ["read:*", "write:customers", ["read:customers"]],
    ["write:customers", "read:licenses", []],
    ["delete:customers", "read:*", []],
    ["read:*", "delete:customers", []],
    ["write:*", "read:customers", ["read:customers"]],
  ])("%s and %s have in common: %j", (one, other, expected) => {
    assert.deepStrictEqual(intersectScopes([one], [other]), expected)
  })
})

it("a token ends in the second that it names", () => {
  const claims = { subject: "s", all: { exp: 1_700_000_000 } } as unknown as Parameters<typeof endOf>[0]
  assert.strictEqual(endOf(claims).toISOString(), "2023-11-14T22:13:20.000Z")
})
