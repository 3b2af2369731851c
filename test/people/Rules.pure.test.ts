import { assert, describe, it } from "@effect/vitest"
import { Option, Schema } from "effect"
import { Role } from "../../src/kernel/contract/Caller.ts"
import { allows, coreModules, covers, OrganizationScope, PlatformScope } from "../../src/kernel/contract/Scope.ts"
import {
  intersectScopes,
  scopesInClaim,
  organizationOf,
  profileOf,
  scopesFor,
  scopesOf,
} from "../../src/domains/people/Rules.ts"

const claims = (all: Record<string, unknown>) => ({ subject: "anna", all })

describe("the scopes of a role", () => {
  it("admins write everything, members write some modules, viewers only read", () => {
    const writable = (role: Role) => coreModules.filter((module) => allows(scopesOf(role), `write:${module}`))
    assert.deepStrictEqual(writable("ADMIN"), [...coreModules])
    assert.deepStrictEqual(writable("MEMBER"), ["instances", "customers", "deployment_zones", "releases", "components"])
    assert.deepStrictEqual(writable("VIEWER"), [])
  })

  it.prop(
    "every role can read every module, and no role can delete",
    [Role, Schema.Literals(coreModules)],
    ([role, module]) => {
      const scopes = scopesOf(role)
      return allows(scopes, `read:${module}`) && !allows(scopes, `delete:${module}`)
    },
  )
})

describe("narrowing by a scope claim", () => {
  it.prop(
    "a narrowed scope is allowed if and only if both the role and the claim allow it",
    [Schema.Array(PlatformScope), Schema.Array(PlatformScope), PlatformScope],
    ([held, to, needed]) => allows(intersectScopes(held, to), needed) === (allows(held, needed) && allows(to, needed)),
  )

  it.prop(
    "the narrowed scopes contain no duplicates and no scope that another one covers",
    [Role, Schema.Array(PlatformScope)],
    ([role, to]) => {
      const scopes = intersectScopes(scopesOf(role), to)
      return scopes.every((scope, index) => scopes.every((other, at) => at === index || !covers(other, scope)))
    },
  )

  it.prop(
    "no claim gives more scopes than the role",
    [Role, Schema.Unknown, OrganizationScope],
    ([role, scope, needed]) => !allows(scopesFor(role, claims({ scope })), needed) || allows(scopesOf(role), needed),
  )

  it("words in the form of a scope narrow, other words of the provider are ignored", () => {
    assert.deepStrictEqual(scopesInClaim(undefined), Option.none())
    assert.deepStrictEqual(scopesInClaim("openid profile offline_access"), Option.none())
    assert.deepStrictEqual(scopesInClaim("openid read:customers"), Option.some(["read:customers"]))
    assert.deepStrictEqual(scopesInClaim(["read:customers", 7]), Option.some(["read:customers"]))
    assert.deepStrictEqual(scopesInClaim("read:custmers"), Option.some([]))
    assert.deepStrictEqual(scopesInClaim("delete:memberships"), Option.some([]))
    assert.deepStrictEqual(scopesInClaim({ scope: "write:*" }), Option.some([]))
    assert.deepStrictEqual(scopesInClaim([]), Option.some([]))
  })

  it("every text of a claim is split by white space, whichever, in a list too", () => {
    for (const space of [" ", "  ", "\t", "\n", "\r\n", "\f", "\u00a0", "\u0085", "\u2028", "\u3000", "\ufeff"]) {
      const words = ["openid", "read:customers", "read:customers", ""].join(space)
      for (const claim of [words, [words], ["profile", words], [`${space}${words}`]]) {
        const scopes = Option.getOrElse(scopesInClaim(claim), () => ["none"])
        assert.deepStrictEqual([...new Set(scopes)], ["read:customers"], JSON.stringify(claim))
      }
      assert.deepStrictEqual(scopesInClaim([`openid${space}profile`]), Option.none())
    }
  })

  it("a claim that is not understood narrows to nothing, and never leaves the whole role", () => {
    const claimsOfNobody = [
      null,
      "",
      " ",
      [""],
      [" ", "\t"],
      7,
      true,
      {},
      { 0: "read:customers" },
      [null],
      [7],
      [{}],
      ["openid", null],
      ["openid", {}],
      [["read:customers"]],
      [["openid"]],
      [[]],
      "READ:customers",
      "Write:*",
      "read:",
      "openid,read:customers",
      "openid;read:customers",
      "openid+read:customers",
      "openid\u200bread:customers",
      '["read:customers"]',
      '"read:customers"',
      "api://keyshelf/read:customers",
    ]
    for (const claim of claimsOfNobody) {
      assert.deepStrictEqual(scopesInClaim(claim), Option.some([]), JSON.stringify(claim))
      assert.deepStrictEqual(scopesFor("ADMIN", claims({ scope: claim })), [])
      assert.deepStrictEqual(scopesFor("ADMIN", claims({ scp: claim })), [])
    }
  })

  it("`scp` narrows like `scope`, and both together allow what each of them allows", () => {
    assert.deepStrictEqual(scopesFor("ADMIN", claims({ scp: ["openid read:customers"] })), ["read:customers"])
    assert.deepStrictEqual(scopesFor("ADMIN", claims({ scp: "access_as_user" })), ["write:*"])
    assert.deepStrictEqual(scopesFor("ADMIN", claims({ scope: "read:*", scp: "write:customers" })), ["read:customers"])
    assert.deepStrictEqual(scopesFor("ADMIN", claims({ scope: "openid", scp: ["read:tokens"] })), ["read:tokens"])
    assert.deepStrictEqual(scopesFor("ADMIN", claims({ scope: "read:customers", scp: "read:tokens" })), [])
    assert.deepStrictEqual(scopesFor("ADMIN", claims(Object.create({ scope: "read:customers" }))), ["write:*"])
  })

  it("a viewer whose token claims write can only read", () => {
    assert.deepStrictEqual(scopesFor("VIEWER", claims({ scope: "openid write:customers" })), ["read:customers"])
    assert.deepStrictEqual(scopesFor("MEMBER", claims({ scope: "write:customers read:*" })), [
      "read:*",
      "write:customers",
    ])
    assert.deepStrictEqual(scopesFor("ADMIN", claims({ scope: "delete:*" })), [])
  })
})

describe("the claims of a token", () => {
  it("the organization is a string, or a list with one string", () => {
    const named = (value: unknown) => Option.getOrUndefined(organizationOf(claims({ org_id: value }), "org_id"))
    assert.strictEqual(named("acme"), "acme")
    assert.strictEqual(named(["acme"]), "acme")
    for (const value of [undefined, null, "", 7, [], ["acme", "globex"], { acme: {} }, "a\u0000b", "x".repeat(256)]) {
      assert.isUndefined(named(value))
    }
    assert.isTrue(Option.isNone(organizationOf(claims({}), "toString")))
  })

  it("the name of a person comes from the token, or else is the subject", () => {
    assert.deepStrictEqual(profileOf(claims({ name: "Anna", email: "anna@example.com" })), {
      name: "Anna",
      email: "anna@example.com",
    })
    assert.deepStrictEqual(profileOf(claims({ name: "", preferred_username: "anna", email: "no address" })), {
      name: "anna",
      email: null,
    })
    assert.deepStrictEqual(profileOf(claims({ name: 7, email: "a\u0000@b" })), { name: "anna", email: null })
  })
})
