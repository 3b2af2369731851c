import { assert, describe, it } from "@effect/vitest"
import { validatorOf } from "../support/schemas.ts"
import { documents, operationsOf } from "./documents.ts"
import type { Schema } from "../support/schemas.ts"
import type { Operation } from "./documents.ts"

const examplesOf = (content: Schema): ReadonlyArray<readonly [type: string, media: Schema]> =>
  Object.entries(content ?? {})

describe("examples in the documents", () => {
  it("every success with a body has an example that its schema accepts", () => {
    let count = 0
    for (const document of documents) {
      const validate = validatorOf(document)
      for (const [name, { responses }] of operationsOf(document)) {
        for (const [status, { content }] of Object.entries(responses)) {
          if (!status.startsWith("2")) continue
          for (const [type, media] of examplesOf(content)) {
            assert.property(media, "example", `${name} ${status} ${type}`)
            assert.deepStrictEqual(validate(media.schema, media.example), [], `${name} ${status} ${type}`)
            count++
          }
        }
      }
    }
    assert.isAbove(count, 90)
  })

  it("every body of a request has an example that its schema accepts", () => {
    let count = 0
    for (const document of documents) {
      const validate = validatorOf(document)
      for (const [name, { requestBody }] of operationsOf(document)) {
        for (const [type, media] of examplesOf(requestBody?.content)) {
          assert.property(media, "example", `${name} ${type}`)
          assert.deepStrictEqual(validate(media.schema, media.example), [], `${name} ${type}`)
          count++
        }
      }
    }
    assert.isAbove(count, 45)
  })

  it("an undocumented property, a wrong type and a missing property are found", () => {
    const [core] = documents
    if (core === undefined) return assert.fail("There is no document")
    const validate = validatorOf(core)
    const operation = new Map<string, Operation>(operationsOf(core)).get("get /api/customers/{customerSlug}")
    const { example, schema } = operation?.responses["200"].content["application/json"]
    assert.lengthOf(validate(schema, { ...example, nickname: "G" }), 1)
    assert.lengthOf(validate(schema, { ...example, name: 7, createdAt: "yesterday" }), 2)
    assert.lengthOf(validate(schema, { ...example, id: undefined }), 1)
  })

  it("examples agree: the customer of an instance is the customer of the examples", () => {
    const operations = new Map<string, Operation>(documents.flatMap(operationsOf))
    const exampleOf = (name: string) => operations.get(name)?.responses["200"].content["application/json"].example
    const instance = exampleOf("get /api/instances/{instanceSlug}")
    const customer = exampleOf("get /api/customers/{customerSlug}")
    assert.deepStrictEqual([instance.customerId, instance.customerSlug], [customer.id, customer.slug])
  })
})
