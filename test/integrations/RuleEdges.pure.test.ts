import { assert, describe, it } from "@effect/vitest"
import type { Customer } from "../../src/domains/customers/Model.ts"
import {
  applyUpsert,
  creationErrors,
  customerResult,
  newRecord,
  writeRecord,
} from "../../src/domains/integrations/Rules.ts"

const at = new Date("2026-01-31T09:00:00Z")
const record = {
  ...newRecord("1"),
  last_error: "e",
  metadata: { a: 1 },
  synced_at: "2025-01-01T00:00:00.000Z",
  web_url: "u",
}

describe("a record that is written", () => {
  it("keeps what is omitted, and clears what is null", () => {
    assert.deepStrictEqual(writeRecord(record, { external_id: "2" }), { ...record, external_id: "2" })
    const cleared = { external_id: "1", last_error: null, metadata: null, synced_at: null, web_url: null }
    assert.deepStrictEqual(writeRecord(record, cleared), newRecord("1"))
    const sent = { external_id: "1", last_error: "x", metadata: { b: 2 }, web_url: "v" }
    assert.deepStrictEqual(writeRecord(record, { ...sent, synced_at: at }), { ...sent, synced_at: at.toISOString() })
  })

  it("has the error of an upsert, and none if that is empty", () => {
    const errorOf = (error: string) => applyUpsert(record, { error }, at).last_error
    assert.deepStrictEqual([errorOf("new"), errorOf("")], ["new", null])
  })

  it("is shown with its error as a text", () => {
    const customer = { name: "A", slug: "a", domain: null } as Customer
    assert.strictEqual(customerResult(customer, record).error, "e")
    assert.strictEqual(customerResult(customer, newRecord("1")).error, "")
  })
})

it("a new instance needs a customer and a license", () => {
  const missing = (input: object) =>
    creationErrors(input as Parameters<typeof creationErrors>[0]).map(({ location }) => location)
  assert.deepStrictEqual(missing({ customerExternalId: "c", licenseId: "l" }), [])
  assert.deepStrictEqual(missing({ customerExternalId: "", licenseId: null }), ["body.licenseId"])
  assert.deepStrictEqual(missing({}), ["body.customerExternalId", "body.licenseId"])
})
