import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import {
  allows,
  missingScopes,
  coreModules,
  covers,
  OrganizationScope,
  PlatformScope,
} from "../../src/kernel/contract/Scope.ts"

/** What an action implies within its module: the specification's whole table. */
const implied: Readonly<Record<string, ReadonlyArray<string>>> = {
  read: ["read"],
  write: ["read", "write"],
  delete: ["delete"],
}

describe("scopes", () => {
  it("a scope covers what its action implies, in its module or by a wildcard in each, and nothing else", () => {
    for (const held of PlatformScope.literals) {
      for (const needed of PlatformScope.literals) {
        const [action = "", module] = held.split(":")
        const [neededAction = "", neededModule] = needed.split(":")
        const expected = implied[action]?.includes(neededAction) === true && (module === "*" || module === neededModule)
        assert.strictEqual(covers(held, needed), expected, `${held} for ${needed}`)
      }
    }
  })

  it.prop("a scope covers itself", [PlatformScope], ([scope]) => covers(scope, scope))

  it.prop("writing a module implies reading it", [Schema.Literals(coreModules)], ([module]) =>
    covers(`write:${module}`, `read:${module}`),
  )

  it.prop("reading never implies writing", [PlatformScope, Schema.Literals(coreModules)], ([scope, module]) =>
    scope.startsWith("read:") ? !covers(scope, `write:${module}`) : true,
  )

  it.prop(
    "a delete scope is implied only by delete:*",
    [PlatformScope, Schema.Literals(coreModules)],
    ([held, module]) => (held === "delete:*" || held === `delete:${module}` ? true : !covers(held, `delete:${module}`)),
  )

  it.prop(
    "a wildcard covers every module",
    [Schema.Literals(coreModules)],
    ([module]) =>
      covers("read:*", `read:${module}`) && covers("write:*", `write:${module}`) && covers("write:*", `read:${module}`),
  )

  it.prop(
    "one module's scope covers no wildcard",
    [Schema.Literals(coreModules)],
    ([module]) => !covers(`write:${module}`, "write:*") && !covers(`write:${module}`, "read:*"),
  )

  it.prop("covering is transitive", [PlatformScope, PlatformScope, PlatformScope], ([a, b, c]) =>
    covers(a, b) && covers(b, c) ? covers(a, c) : true,
  )

  it.prop(
    "scopes that may be issued never allow more than the issuer holds",
    [Schema.Array(PlatformScope), Schema.Array(PlatformScope), PlatformScope],
    ([held, asked, needed]) =>
      missingScopes(held, asked).length === 0 && allows(asked, needed) ? allows(held, needed) : true,
  )

  it("memberships and users belong to the platform only", () => {
    assert.isFalse(Schema.is(OrganizationScope)("read:memberships"))
    assert.isTrue(Schema.is(PlatformScope)("delete:memberships"))
  })
})
