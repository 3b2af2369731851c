import { assert, describe, it } from "@effect/vitest"
import { Predicate } from "effect"
import { documents, operationsOf } from "./documents.ts"
import type { Schema } from "../support/schemas.ts"
import type { Operation } from "./documents.ts"

describe("scopes in the documents", () => {
  it("every operation names the one scope that it requires; only the caller and the health require none, and public ones no credential", () => {
    for (const [name, { security }] of documents.flatMap(operationsOf)) {
      if (/^get \/api\/(offline|ofrep\/v1\/streams)\//.test(name)) {
        assert.deepStrictEqual(security, [], name)
        continue
      }
      // What an import needs depends on its body.
      assert.strictEqual(security.length, name === "post /api/imports" ? 3 : 1, name)
      for (const alternative of security) {
        const [scopes] = Object.values(alternative)
        if (/\/(me|platform\/health)$/.test(name)) assert.deepStrictEqual(scopes, [], name)
        else assert.match(scopes?.join() ?? "", /^(read|write|delete):[a-z_]+$/, name)
      }
    }
  })

  it("the scopes match the specification", () => {
    const operations = new Map<string, Operation>(documents.flatMap(operationsOf))
    const scopeOf = (name: string) => Object.values(operations.get(name)?.security[0] ?? {})
    assert.deepStrictEqual(scopeOf("get /api/components/{componentSlug}"), [["read:components"]])
    assert.deepStrictEqual(scopeOf("put /api/connectors/{connectorName}/activation"), [["write:organizations"]])
    assert.deepStrictEqual(scopeOf("delete /api/platform/organizations/{orgId}/memberships/{userId}"), [
      ["delete:memberships"],
    ])
    assert.deepStrictEqual(scopeOf("get /api/webhooks/history"), [["read:webhooks"]])
  })
})

describe("operations in the documents", () => {
  it("each has a summary without a full stop, and a description in sentences", () => {
    for (const [name, { description, summary }] of documents.flatMap(operationsOf)) {
      assert.match(summary ?? "", /^[A-Z].{5,}[^.]$/, name)
      assert.match(description ?? "", /^[A-Z`][^]{10,}\.$/, name)
    }
  })
})

/** The paths of arrays that do not say what their items are. */
const arraysWithoutItems = (part: unknown, path = ""): ReadonlyArray<string> => {
  if (!Predicate.isObjectOrArray(part)) return []
  const own = "type" in part && part.type === "array" && !("items" in part) && !("prefixItems" in part) ? [path] : []
  return [...own, ...Object.entries(part).flatMap(([name, value]) => arraysWithoutItems(value, `${path}/${name}`))]
}

describe("lists in the documents", () => {
  it("every array says what its items are", () => {
    for (const document of documents) assert.deepStrictEqual(arraysWithoutItems(document), [])
  })

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

describe("parameters in the documents", () => {
  it("each has a description", () => {
    for (const [name, { parameters }] of documents.flatMap(operationsOf)) {
      for (const parameter of parameters ?? []) {
        assert.match(parameter.description ?? "", /^[A-Z`].{8,}/, `${name} ${parameter.name}`)
      }
    }
  })

  it("the description follows from the name, or is what the definition says", () => {
    const operations = new Map<string, Operation>(documents.flatMap(operationsOf))
    const descriptionOf = (operation: string, name: string) =>
      operations.get(operation)?.parameters?.find((parameter) => parameter.name === name)?.description
    assert.strictEqual(
      descriptionOf("get /api/deployment-zones/{deploymentZoneSlug}", "deploymentZoneSlug"),
      "Slug of the deployment zone",
    )
    assert.strictEqual(
      descriptionOf("get /api/instances", "startsBefore"),
      "Only instances whose license starts before this time",
    )
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
      const { responses, schemas } = document.components
      const codes = [
        "Request.BodyTooLarge",
        "Request.UnsupportedMediaType",
        "Service.InternalError",
        "Service.Unavailable",
      ]
      const names = codes.map((code) => code.replace(".", ""))
      assert.sameMembers(Object.keys(responses), names)
      for (const code of codes) {
        const [base, own] = schemas[code.replace(".", "")].allOf
        assert.deepStrictEqual(base, { $ref: "#/components/schemas/Problem" })
        // What is fixed in all problems would contradict what is fixed in each.
        assert.notInclude(JSON.stringify(schemas["Problem"]), "enum")
        assert.deepStrictEqual(own.properties.code.enum, [code])
        assert.deepStrictEqual(own.properties.type.enum, [`urn:keyshelf:problem:${code}`])
      }
    }
  })

  it("an operation's own problem with the same status remains next to the shared one", () => {
    const operations = new Map<string, Operation>(documents.flatMap(operationsOf))
    const schema = operations.get("get /api/events")?.responses["503"].content["application/problem+json"].schema
    assert.deepStrictEqual(schema, {
      anyOf: [
        { $ref: "#/components/schemas/FollowEventsNodeFull" },
        { $ref: "#/components/schemas/ServiceUnavailable" },
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

const nodesOf = (value: unknown, path: string): ReadonlyArray<readonly [path: string, node: Schema]> => {
  if (typeof value !== "object" || value === null) return []
  return [
    [path, value],
    ...Object.entries(value)
      .filter(([key]) => key !== "example" && key !== "enum")
      .flatMap(([key, child]) => nodesOf(child, `${path}/${key}`)),
  ]
}

describe("names in the documents", () => {
  it("each operation has an id of its own, like a function", () => {
    for (const document of documents) {
      const ids = operationsOf(document).map(([, { operationId }]) => operationId)
      assert.strictEqual(new Set(ids).size, ids.length)
      for (const id of ids) assert.match(id, /^[a-z]+([A-Z][a-z]+)*$/)
    }
    const ids = documents.flatMap(operationsOf).map(([, { operationId }]) => operationId)
    assert.includeMembers(ids, [
      "listCustomers",
      "createCustomer",
      "getCustomer",
      "updateCustomer",
      "deleteCustomer",
      "checkInstance",
      "getLicenseFamily",
      "issueServiceAccountToken",
    ])
  })

  it("records, bodies, pages and enums have names", () => {
    const [{ components } = { components: { schemas: {} } }] = documents
    assert.includeMembers(Object.keys(components.schemas), [
      "Customer",
      "CreateCustomer",
      "UpdateCustomer",
      "CustomerPage",
      "LicenseType",
      "Problem",
      "CustomerNotFound",
    ])
    for (const name of documents.flatMap(({ components: { schemas } }) => Object.keys(schemas))) {
      assert.match(name, /^[A-Z][A-Za-z]+$/)
    }
  })

  it("every object with properties and every enum is a component", () => {
    for (const { components, paths } of documents) {
      const schemas = Object.entries(components.schemas).filter(([, { allOf }]) => allOf === undefined)
      const anonymous = [
        ...schemas.flatMap(([name, schema]) => nodesOf(schema, name).slice(1)),
        ...nodesOf(paths, "").filter(([path]) => !path.includes("/parameters/")),
      ].filter(([, node]) => (node.type === "object" && node.properties !== undefined) || node.enum?.length > 1)
      assert.deepStrictEqual(
        anonymous.map(([path]) => path),
        [],
      )
    }
  })

  it("every JSON body and success is a component, alternatives of them, or a list of them", () => {
    const named = (schema: Schema): boolean =>
      schema.$ref !== undefined || (schema.anyOf?.every(named) ?? (schema.type === "array" && named(schema.items)))
    for (const [name, { requestBody, responses }] of documents.flatMap(operationsOf)) {
      const successes = Object.entries(responses).filter(([status]) => status.startsWith("2"))
      for (const { content = {} } of [requestBody ?? {}, ...successes.map(([, response]) => response)]) {
        for (const [type, { schema }] of Object.entries<Schema>(content)) {
          assert.isTrue(type === "text/event-stream" || named(schema), `${name}: ${type}`)
        }
      }
    }
  })
})

describe("where the documents send requests", () => {
  it("requests go to the listener of the API, with a bearer token", () => {
    for (const { components, servers } of documents) {
      assert.deepStrictEqual(
        servers.map(({ url }) => url),
        ["/"],
      )
      for (const scheme of Object.values(components.securitySchemes)) {
        assert.deepInclude(scheme, { type: "http", scheme: "bearer" })
      }
    }
  })

  it("a body that can be left out is not required", () => {
    const bodies = documents
      .flatMap(operationsOf)
      .flatMap(([, { operationId, requestBody }]) => (requestBody?.required === false ? [operationId] : []))
    assert.sameMembers(bodies, [
      "rotateServiceAccountToken",
      "rotateLicenseKey",
      "issueOfflineBundle",
      "createReservation",
      "commitReservation",
    ])
  })
})
