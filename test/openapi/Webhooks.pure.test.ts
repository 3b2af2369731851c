import { assert, describe, it } from "@effect/vitest"
import { eventNames } from "../../src/kernel/values/EventNames.ts"
import { eventValidator } from "../support/eventSchemas.ts"
import { validatorOf } from "../support/schemas.ts"
import { coreDocument, operationsOf, webhookDocument } from "./documents.ts"

const deliveries = operationsOf({ paths: webhookDocument.webhooks ?? {} })

describe("webhooks in the documents", () => {
  it("each event has an entry, and nothing else has one", () => {
    assert.deepStrictEqual(
      deliveries.map(([name]) => name),
      eventNames.map((name) => `post ${name}`),
    )
    assert.notProperty(coreDocument, "webhooks")
    assert.notInclude(JSON.stringify(webhookDocument.paths), "webhook-events")
  })

  it("each payload has an example of its event that its schema accepts", () => {
    const validate = validatorOf(webhookDocument)
    for (const [name, { requestBody }] of deliveries) {
      const { example, schema } = requestBody.content["application/json"]
      assert.strictEqual(`post ${example.type}`, name)
      assert.deepStrictEqual(validate(schema, example), [], name)
    }
  })

  it("each needs no credential, is acknowledged by any 2xx, and has the headers of Standard Webhooks", () => {
    for (const [name, { parameters, responses, security }] of deliveries) {
      assert.deepStrictEqual(security, [], name)
      assert.deepStrictEqual(Object.keys(responses), ["2XX"], name)
      assert.deepStrictEqual(
        parameters?.map((parameter) => [parameter.in, parameter.name]),
        [
          ["header", "webhook-id"],
          ["header", "webhook-timestamp"],
          ["header", "webhook-signature"],
        ],
        name,
      )
    }
  })

  it("later versions may add properties to a payload", () => {
    for (const [, { requestBody }] of deliveries) {
      const [, name] = /\/(\w+)$/.exec(requestBody.content["application/json"].schema.$ref) ?? []
      assert.notProperty(webhookDocument.components.schemas[String(name)], "additionalProperties", name)
    }
  })
})

describe("the validation of emitted events", () => {
  const errorsOf = eventValidator()
  const [, created] = deliveries.find(([name]) => name === "post CUSTOMER_CREATION") ?? []
  const { example } = created?.requestBody.content["application/json"]

  it("an event as documented is valid", () => {
    assert.deepStrictEqual(errorsOf(example), [])
  })

  it("an undocumented, a missing and a wrong property are found, and an unknown event", () => {
    assert.lengthOf(errorsOf({ ...example, data: { ...example.data, nickname: "G" } }), 1)
    assert.lengthOf(errorsOf({ ...example, data: { ...example.data, slug: undefined } }), 1)
    assert.lengthOf(errorsOf({ ...example, data: { ...example.data, name: 7 } }), 1)
    assert.lengthOf(errorsOf({ ...example, type: "CUSTOMER_RENAMED" }), 1)
  })
})
