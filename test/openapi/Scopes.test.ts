import { assert, describe, it } from "@effect/vitest"
import { OpenApi } from "effect/http-api"
import { CoreApi } from "../../src/CoreApi.ts"
import { withScopes } from "../../src/openapi/Scopes.ts"
import { PlatformApi } from "../../src/PlatformApi.ts"
import { WebhookApi } from "../../src/WebhookApi.ts"

type Operations = Readonly<Record<string, { readonly security: ReadonlyArray<Readonly<Record<string, Array<string>>>> }>>

const operationsOf = (document: { readonly paths: object }) =>
  Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations as Operations).map(([method, operation]) => [`${method} ${path}`, operation] as const),
  )

const documents = [
  OpenApi.fromApi(withScopes(CoreApi)),
  OpenApi.fromApi(withScopes(PlatformApi)),
  OpenApi.fromApi(withScopes(WebhookApi)),
]

describe("the scopes in the documents", () => {
  it("every operation names the one scope that it needs, only the caller's own record needs none", () => {
    for (const [name, { security }] of documents.flatMap(operationsOf)) {
      assert.strictEqual(security.length, 1, name)
      const [scopes] = Object.values(security[0] ?? {})
      if (name.endsWith("/me")) assert.deepStrictEqual(scopes, [], name)
      else assert.match(scopes?.join() ?? "", /^(read|write|delete):[a-z_]+$/, name)
    }
  })

  it("the scopes are those of the specification", () => {
    const operations = new Map<string, Operations[string]>(documents.flatMap(operationsOf))
    const scopeOf = (name: string) => Object.values(operations.get(name)?.security[0] ?? {})
    assert.deepStrictEqual(scopeOf("get /api/components/{componentSlug}"), [["read:components"]])
    assert.deepStrictEqual(scopeOf("put /api/connectors/{connectorName}/activation"), [["write:organizations"]])
    assert.deepStrictEqual(scopeOf("delete /api/platform/organizations/{orgId}/memberships/{userId}"), [
      ["delete:memberships"],
    ])
    assert.deepStrictEqual(scopeOf("get /api/webhooks/history"), [["read:webhooks"]])
  })
})
