import { assert, describe, it } from "@effect/vitest"
import { OpenApi } from "effect/http-api"
import { CoreApi } from "../../src/api/CoreApi.ts"
import { withDocumentation } from "../../src/openapi/Documented.ts"
import { PlatformApi } from "../../src/api/PlatformApi.ts"
import { WebhookApi } from "../../src/api/WebhookApi.ts"

interface Operation {
  readonly security: ReadonlyArray<Readonly<Record<string, Array<string>>>>
  readonly parameters?: ReadonlyArray<{ readonly name: string; readonly in: string; readonly schema: object }>
  // eslint-disable-next-line typescript/no-explicit-any -- responses have many shapes
  readonly responses: Readonly<Record<string, any>>
}

type Operations = Readonly<Record<string, Operation>>

const operationsOf = (document: { readonly paths: object }) =>
  Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations as Operations).map(([method, operation]) => [`${method} ${path}`, operation] as const),
  )

const documents = [
  OpenApi.fromApi(withDocumentation(CoreApi)),
  OpenApi.fromApi(withDocumentation(PlatformApi)),
  OpenApi.fromApi(withDocumentation(WebhookApi)),
]

describe("scopes in the documents", () => {
  it("every operation names the one scope that it requires; only /me requires none", () => {
    for (const [name, { security }] of documents.flatMap(operationsOf)) {
      assert.strictEqual(security.length, 1, name)
      const [scopes] = Object.values(security[0] ?? {})
      if (name.endsWith("/me")) assert.deepStrictEqual(scopes, [], name)
      else assert.match(scopes?.join() ?? "", /^(read|write|delete):[a-z_]+$/, name)
    }
  })

  it("the scopes match the specification", () => {
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

describe("lists in the documents", () => {
  it("the limit of every list is an integer with its range and default", () => {
    const limits = documents
      .flatMap(operationsOf)
      .flatMap(([, { parameters }]) => parameters?.filter(({ name }) => name === "limit") ?? [])
    assert.isAbove(limits.length, 15)
    for (const limit of limits) {
      assert.deepInclude(limit.schema, { type: "integer", minimum: 1, maximum: 200, default: 50 })
    }
  })
})

describe("shared error responses in the documents", () => {
  it("every operation declares 500 and 503, and also 413 and 415 if it takes a body", () => {
    for (const [name, { responses }] of documents.flatMap(operationsOf)) {
      const takesBody = /^(post|put|patch) /.test(name)
      for (const [status, expected] of [
        [500, true],
        [503, true],
        [413, takesBody],
        [415, takesBody],
      ] as const) {
        assert.strictEqual(String(status) in responses, expected, `${name} ${status}`)
      }
    }
  })

  it("each shared response is described once, as a problem document", () => {
    for (const document of documents) {
      const components: { schemas: Record<string, object>; responses?: Record<string, object> } = document.components
      const names = ["Request.BodyTooLarge", "Request.UnsupportedMediaType", "Service.InternalError", "Service.Unavailable"]
      assert.sameMembers(Object.keys(components.responses ?? {}), names)
      for (const name of names) {
        assert.nestedPropertyVal(components.schemas, `${name.replace(".", "\\.")}Encoded.properties.code.enum[0]`, name)
        assert.nestedPropertyVal(
          components.schemas,
          `${name.replace(".", "\\.")}Encoded.properties.type.enum[0]`,
          `urn:keyshelf:problem:${name}`,
        )
      }
    }
  })

  it("an operation's own problem with the same status remains next to the shared one", () => {
    const operations = new Map<string, Operation>(documents.flatMap(operationsOf))
    const schema = operations.get("get /api/events")?.responses["503"].content["application/problem+json"].schema
    assert.deepStrictEqual(schema, {
      anyOf: [
        { $ref: "#/components/schemas/FollowEvents.NodeFullEncoded" },
        { $ref: "#/components/schemas/Service.UnavailableEncoded" },
      ],
    })
  })

  it("every reference resolves", () => {
    for (const document of documents) {
      const references = JSON.stringify(document).match(/"#\/[^"]+"/g) ?? []
      assert.isAbove(references.length, 50)
      for (const reference of new Set(references)) {
        const found = (JSON.parse(reference) as string)
          .slice(2)
          .split("/")
          .reduce<unknown>((part, name) => (part as Record<string, unknown> | undefined)?.[name], document)
        assert.isDefined(found, reference)
      }
    }
  })
})
