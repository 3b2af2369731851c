import { assert, describe, it } from "@effect/vitest"
import { Option, Schema } from "effect"
import { exitCodeOf } from "../../../src/cli/remote/connection/ExitCodes.ts"
import { instant } from "../../../src/cli/remote/Instants.ts"
import { eventText } from "../../../src/cli/remote/Lists.ts"
import { listText, recordText } from "../../../src/cli/remote/Output.ts"

const now = new Date("2026-11-25T12:00:00.000Z")

describe("times on the command line", () => {
  it("are ISO 8601, dates, or in the past how long ago", () => {
    for (const [text, expected] of [
      ["2027-01-31T09:00:00Z", "2027-01-31T09:00:00Z"],
      ["2027-01-31T09:00:00+02:00", "2027-01-31T09:00:00+02:00"],
      ["2027-01-31", "2027-01-31T00:00:00.000Z"],
      ["90m", "2026-11-25T10:30:00.000Z"],
      ["7d", "2026-11-18T12:00:00.000Z"],
    ] as const) {
      assert.deepStrictEqual(instant(text, now), Option.some(expected))
    }
  })

  it("are nothing else", () => {
    for (const text of ["", "yesterday", "2027-13-01", "2027-01-31T09:00:00", "-1h", "999999999d"]) {
      assert.deepStrictEqual(instant(text, now), Option.none(), text)
    }
    // A term that ends "7 days ago" is never meant.
    assert.deepStrictEqual(instant("7d", undefined), Option.none())
  })
})

describe("text for people", () => {
  it.prop("never contains a control character, whatever a record contains", { value: Schema.Json }, ({ value }) => {
    const record = { name: value, slug: "\u001b]0;title\u0007", data: [value] }
    for (const text of [recordText(record), listText(["name", "slug", "data"], [record]), eventText(record)]) {
      assert.notMatch(text.replaceAll("\n", ""), /[\p{Cc}\u2028\u2029\u202e]/u)
    }
  })

  it("shows actors and references by their name, lists by their items, and nothing for null", () => {
    const record = {
      createdBy: { id: "1", name: "Anna" },
      scopes: ["read:*", "write:*"],
      domain: null,
      value: { seats: 5 },
    }
    assert.strictEqual(
      recordText(record),
      ["createdBy  Anna", "scopes     read:*, write:*", "domain", 'value      {"seats":5}'].join("\n"),
    )
  })

  it("shortens long objects in tables, but no text", () => {
    const text = "x".repeat(200)
    assert.include(listText(["name"], [{ name: text }]), text)
    assert.notInclude(listText(["name"], [{ name: { text } }]), text)
  })

  it("shows an event on one line, with the record that it is about", () => {
    const event = {
      timestamp: "2026-11-25T12:00:00.000Z",
      type: "CUSTOMER_CREATION",
      actor: { id: "1", name: "Anna" },
      data: { id: "2", name: "Globex", slug: "globex" },
    }
    assert.strictEqual(eventText(event), "2026-11-25T12:00:00.000Z  CUSTOMER_CREATION             Anna  globex")
  })
})

describe("exit codes", () => {
  it("follow the status of the response", () => {
    for (const [status, code] of [
      [400, 2],
      [401, 4],
      [403, 4],
      [404, 5],
      [409, 2],
      [422, 2],
      [429, 6],
      [500, 6],
      [503, 6],
    ] as const) {
      assert.strictEqual(exitCodeOf(status), code, `${status}`)
    }
  })
})
