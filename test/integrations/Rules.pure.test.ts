import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import {
  newRecord,
  mergeMetadata,
  recordErrors,
  slugErrors,
  applyUpsert,
} from "../../src/domains/integrations/Rules.ts"

const value = Schema.NullOr(Schema.Union([Schema.String, Schema.Boolean, Schema.Array(Schema.String)]))
const at = new Date("2026-01-31T09:00:00Z")

describe("integration records", () => {
  it.prop(
    "a merge sets sent keys, removes null ones and keeps the others",
    [Schema.Record(Schema.String, value), Schema.Record(Schema.String, value)],
    ([first, patch]) => {
      const current = mergeMetadata({}, first)
      const after = mergeMetadata(current, patch)
      for (const key of new Set([...Object.keys(current), ...Object.keys(patch)])) {
        const wanted = Object.hasOwn(patch, key) ? patch[key] : current[key]
        assert.strictEqual(Object.hasOwn(after, key), wanted !== null)
        if (wanted !== null) assert.deepStrictEqual(after[key], wanted)
      }
      assert.deepStrictEqual(mergeMetadata(after, patch), after)
    },
  )

  it("a merge with undefined changes nothing, a merge with null removes all keys", () => {
    assert.deepStrictEqual(mergeMetadata({ a: 1 }, undefined), { a: 1 })
    assert.deepStrictEqual(mergeMetadata({ a: 1 }, null), {})
  })

  it("an upsert keeps the external id and the last error", () => {
    const failed = { ...newRecord("001"), last_error: "timeout", web_url: "https://crm.example" }
    const expected = { ...failed, synced_at: "2026-01-31T09:00:00.000Z" }
    assert.deepStrictEqual(applyUpsert(failed, {}, at), expected)
    assert.deepStrictEqual(applyUpsert(failed, { webUrl: null }, at), { ...expected, web_url: null })
  })

  it("metadata above its limits is a validation error", () => {
    const keys = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, key) => [`k${key}`, key]))
    assert.deepStrictEqual(recordErrors({ ...newRecord("1"), metadata: keys(64) }), [])
    assert.deepStrictEqual(
      recordErrors({ ...newRecord("1"), metadata: keys(65) }).map(({ location }) => location),
      ["body.integrationMetadata"],
    )
  })

  it("a slug other than the current one is a validation error", () => {
    assert.deepStrictEqual([slugErrors("acme", undefined), slugErrors("acme", "acme")], [[], []])
    assert.strictEqual(slugErrors("acme", "globex")[0]?.location, "body.slug")
  })
})
