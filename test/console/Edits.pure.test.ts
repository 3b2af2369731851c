import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { ExactNumber, objectForBody, parseExact } from "../../console/src/kernel/Amount.ts"
import { Problem } from "../../console/src/kernel/Api.ts"
import { isSame, rebased } from "../../console/src/kernel/forms/Change.ts"
import { bodyOfEdit, Conflict, editOf, isOutdated } from "../../console/src/kernel/forms/Edit.ts"
import { inputOfMoment, isMoment, momentOfInput, stepOfInput } from "../../console/src/kernel/forms/Moments.ts"

const Name = Schema.Literals(["name", "note", "end", "constructor"])
const Body = Schema.Record(Name, Schema.Json)
type Body = Readonly<Record<string, unknown>>

const edit = (seen: Body, after: Body, merged: ReadonlyArray<string> = []) =>
  editOf<Body, Body>({ seen, before: seen, after, storedIn: (record) => record, merged })

const written = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

describe("an edit", () => {
  it.prop("of an untouched form does not exist", { seen: Body }, ({ seen }) => {
    assert.isUndefined(edit(seen, written(seen) as Body))
    assert.isUndefined(edit({ metadata: seen }, { metadata: written(seen) }, ["metadata"]))
  })

  it.prop(
    "has what changed, and nothing else",
    { seen: Body, after: Body },
    ({ seen, after }: { readonly seen: Body; readonly after: Body }) => {
      const names = Object.keys({ ...seen, ...after }).filter((name) => !isSame(seen[name], after[name]))
      const found = edit(seen, after)
      assert.deepStrictEqual(Object.keys(found?.bodyFor(seen) ?? {}).toSorted(), names.toSorted())
      for (const [name, value] of Object.entries(found?.bodyFor(seen) ?? {})) assert.isTrue(isSame(value, after[name]))
    },
  )

  it.prop(
    "of an object changes its keys alone, whatever another writer stored under others",
    { seen: Body, after: Body, theirs: Body },
    ({ seen, after, theirs }: { readonly seen: Body; readonly after: Body; readonly theirs: Body }) => {
      const found = edit({ metadata: seen }, { metadata: after }, ["metadata"])
      if (found === undefined) return
      const sent = Object(found.bodyFor({ metadata: theirs })["metadata"])
      for (const name of Object.keys({ ...seen, ...after, ...theirs })) {
        const expected = isSame(seen[name], after[name]) ? theirs : after
        const valueIn = (body: Body) => (Object.hasOwn(body, name) ? body[name] : undefined)
        assert.isTrue(isSame(valueIn(sent), valueIn(expected)), name)
      }
    },
  )

  it("is sent with the time of the record that it was compared with", async () => {
    const seen = { name: "a", end: "2027", updatedAt: "1" }
    const found = edit(seen, { ...seen, name: "b" })
    const stored = { name: "a", end: "2030", updatedAt: "2" }
    if (found === undefined) throw new Error("There is an edit")
    assert.deepStrictEqual(await bodyOfEdit(found, async () => stored), { name: "b", updatedAt: "2" })
  })

  it("of what another writer changed is a conflict that names what is stored", async () => {
    const seen = { name: "a", end: null, metadata: { region: "eu", tier: "gold" } }
    const found = edit(seen, { name: "b", end: null, metadata: { region: "us", tier: "gold" } }, ["metadata"])
    if (found === undefined) throw new Error("There is an edit")
    const theirs = { name: "a", end: "2030", metadata: { region: "ap", tier: "silver" } }
    const error = await bodyOfEdit(found, async () => theirs).catch((failure: unknown) => failure)
    assert.instanceOf(error, Conflict)
    if (!(error instanceof Conflict)) return
    assert.deepStrictEqual(error.errors, [
      { location: "body.metadata/region", message: "Someone else changed it in the meantime. Stored now: ap" },
    ])
    assert.strictEqual(error.stored, theirs)
  })

  it("is outdated if the service refuses the time of the record", () => {
    const errors = [{ location: "body.updatedAt", message: "must equal what is stored or be omitted" }]
    assert.isTrue(isOutdated(new Problem(422, "", "", "", { errors })))
    assert.isFalse(isOutdated(new Problem(422, "", "", "", { errors: [{ location: "body.name", message: "" }] })))
  })

  it("keeps what was typed over another record, and shows that record elsewhere", () => {
    const lines = [{ line: 1, name: "on" }]
    const initial = { name: "a", end: "2027", lines }
    assert.deepStrictEqual(rebased(initial, { ...initial, name: "b" }, { name: "c", end: "2030", lines: [] }), {
      name: "b",
      end: "2030",
      lines: [],
    })
  })
})

const Moment = Schema.Int.check(
  Schema.isBetween({ minimum: Date.parse("0001-01-01T00:00:00Z"), maximum: Date.parse("9999-12-31T23:59:59.999Z") }),
)

const zones = ["Pacific/Honolulu", "America/St_Johns", "UTC", "Europe/Berlin", "Asia/Kolkata", "Pacific/Kiritimati"]

describe("a moment in a field", () => {
  for (const zone of zones) {
    it.prop(`is the same after it was shown, in ${zone}`, { ms: Moment }, ({ ms }) => {
      const before = process.env["TZ"]
      process.env["TZ"] = zone
      const moment = new Date(ms).toISOString()
      const shown = inputOfMoment(moment)
      if (before === undefined) delete process.env["TZ"]
      else process.env["TZ"] = before
      assert.strictEqual(momentOfInput(shown), moment)
    })
  }

  it("shows its seconds only if it has some, and lets the browser step by them", () => {
    const shown = {
      "2026-01-15T12:34:56.789Z": ["2026-01-15T12:34:56.789", 0.001],
      "2026-01-15T12:34:00.001Z": ["2026-01-15T12:34:00.001", 0.001],
      "2027-06-30T23:59:59.000Z": ["2027-06-30T23:59:59", 1],
      "2027-06-30T23:59:00.000Z": ["2027-06-30T23:59", 60],
      "2027-07-01T01:59:59+02:00": ["2027-06-30T23:59:59", 1],
      "": ["", 60],
    } as const
    for (const [moment, [text, step]] of Object.entries(shown)) {
      assert.deepStrictEqual([inputOfMoment(moment), stepOfInput(inputOfMoment(moment))], [text, step])
    }
  })

  it("that cannot be sent is not taken for nothing", () => {
    for (const text of ["12027-06-30T23:59", "2027-06-30", "2027-13-01T00:00", "tomorrow"]) {
      assert.strictEqual(momentOfInput(text), text)
      assert.isFalse(isMoment(momentOfInput(text)), text)
    }
    assert.isTrue(isMoment(momentOfInput("0027-06-30T23:59")))
  })
})

describe("JSON of a record", () => {
  const digits = "123456789012345678"
  const record =
    `{"value":${digits},"saleUnitFactor":0.123456789012345678,"metadata":{"text":"${digits}","number":${digits},` +
    `"list":[${digits},{"deep":1.100000000000000001}]},"conditions":[{"values":["${digits}",${digits}]}],` +
    `"settings":{"port":${digits}},"grant":{"value":{"seats":${digits}}}}`

  it("has amounts as text, and exact numbers inside free JSON", () => {
    const parsed = Object(parseExact(record))
    assert.strictEqual(parsed.value, digits)
    assert.strictEqual(parsed.saleUnitFactor, "0.123456789012345678")
    assert.strictEqual(parsed.metadata.text, digits)
    assert.instanceOf(parsed.metadata.number, ExactNumber)
    assert.instanceOf(parsed.grant.value.seats, ExactNumber)
  })

  it("is sent back with all digits, and with texts as texts", () => {
    const { conditions, grant, metadata, settings } = Object(parseExact(record))
    const free = { metadata, conditions, settings, grant }
    const sent = JSON.stringify(free)
    for (const part of [/"metadata":\{.*?\]\}/, /"conditions":\[.*?\]\}\]/, /"settings":\{.*?\}/, /"grant":\{.*?\}\}/])
      assert.include(sent, part.exec(record)?.[0] ?? "nothing")
    assert.strictEqual(JSON.stringify(objectForBody(JSON.stringify(metadata, null, 2))), JSON.stringify(metadata))
  })
})
