import { assert, describe, it } from "@effect/vitest"
import { createHash } from "node:crypto"
import { openLedger } from "../../src/offline/index.ts"
import type { Ledger, StoredLedger } from "../../src/offline/index.ts"

const SOURCE = "urn:keyshelf:ledger:0198c2b5-0000-7000-8000-000000000001"

const usage = { subject: "globex-prod", type: "api-calls", bundleId: "b-1", time: "2026-01-12T08:00:00.000Z", value: 1 }

const sha256 = (text: string) => createHash("sha256").update(text).digest("base64url")

const opened = async (options?: StoredLedger): Promise<Ledger> => {
  const ledger = await openLedger(SOURCE, options)
  return ledger.status === "OPEN" ? ledger : assert.fail(ledger.status)
}

const appended = async (ledger: Ledger, changes: object = {}): Promise<string> => {
  const answer = await ledger.append({ ...usage, ...changes })
  return answer.status === "APPENDED" ? answer.line : assert.fail(answer.status)
}

describe("a ledger", () => {
  it("goes on from its lines, from its position, and from both", async () => {
    const ledger = await opened()
    const lines = [await appended(ledger), await appended(ledger, { value: 2 })]
    const third = await appended(ledger, { value: 3 })
    const position = { lines: 2, head: sha256(lines[1] ?? "") }
    for (const options of [{ lines }, { stored: position }, { stored: position, lines }]) {
      const again = await opened(options)
      assert.deepStrictEqual(again.position(), position)
      assert.strictEqual(await appended(again, { value: 3 }), third)
    }
  })

  it("makes one line after the other, though calls come at the same time", async () => {
    const ledger = await opened()
    const calls = Array.from({ length: 50 }, (_, value) => appended(ledger, { value }))
    const broken = ledger.append({ ...usage, value: "x" })
    const lines = [...(await Promise.all(calls)), await appended(ledger)]
    assert.deepStrictEqual(await broken, { status: "MALFORMED" })
    let head = sha256(SOURCE)
    for (const [index, line] of lines.entries()) {
      const { id, prevhash } = JSON.parse(line)
      assert.deepStrictEqual([id, prevhash], [String(index + 1), head])
      head = sha256(line)
    }
    assert.deepStrictEqual(ledger.position(), { lines: 51, head })
    assert.strictEqual((await opened({ lines })).position().head, head)
  })

  it("writes amounts digit by digit, and other data beside", async () => {
    const ledger = await opened()
    for (const [value, text] of [
      ["123456789012345678", "123456789012345678"],
      ["0.000000000000000001", "0.000000000000000001"],
      [40.5, "40.5"],
      [7n, "7"],
      ["-2.50", "-2.5"],
    ] as const) {
      assert.include(await appended(ledger, { value }), `,"data":{"value":${text}}}`)
    }
    const line = await appended(ledger, { subject: "größe\n\ud800", data: { uniqueKey: "u" } })
    assert.isTrue(line.endsWith(`,"data":{"value":1,"uniqueKey":"u"}}`))
    assert.notInclude(line, "\n")
    assert.strictEqual(JSON.parse(line).subject, "größe\n\ud800")
    assert.strictEqual(ledger.position().head, sha256(line))
  })

  it("a line that is changed, left out, repeated at another place or of another ledger is found", async () => {
    const ledger = await opened()
    const lines: Array<string> = []
    for (let value = 0; value < 5; value++) lines.push(await appended(ledger, { value }))
    for (let at = 0; at < 5; at++) {
      const rest = lines.slice(at + 1)
      const missing = await openLedger(SOURCE, { lines: [...lines.slice(0, at), ...rest] })
      assert.strictEqual(missing.status, at === 4 ? "OPEN" : "GAP")
      const line = lines[at] ?? ""
      const changed = line.replace('"value":', '"value":1')
      const rewritten = await openLedger(SOURCE, { lines: [...lines.slice(0, at), changed, ...rest] })
      if (at < 4) assert.deepStrictEqual(rewritten, { status: "FORKED", at: at + 2 })
      else
        assert.notStrictEqual((await opened({ lines: [...lines.slice(0, at), changed] })).position().head, sha256(line))
      const stored = { lines: at + 1, head: sha256(line) }
      const fork = await openLedger(SOURCE, { stored, lines: [...lines.slice(0, at), changed] })
      assert.deepStrictEqual(fork, { status: "FORKED", at: at + 1 })
      const strange = line.replace("000000000001", "000000000002")
      assert.deepStrictEqual(await openLedger(SOURCE, { lines: [...lines.slice(0, at), strange] }), {
        status: "MALFORMED",
      })
    }
  })

  it("answers arguments of any form", async () => {
    for (const source of [undefined, null, 7, "", "urn:uuid:1", `${SOURCE}0`] as never[]) {
      assert.deepStrictEqual(await openLedger(source), { status: "MALFORMED" })
    }
    for (const options of [null, { lines: 7 }, { lines: [7] }, { lines: ["{"] }, { lines: ["null"] }, { stored: {} }]) {
      assert.deepStrictEqual(await openLedger(SOURCE, options as never), { status: "MALFORMED" })
    }
    for (const stored of [{ lines: 0, head: "x" }, { lines: -1, head: "x" }, { lines: 1 }]) {
      assert.deepStrictEqual(await openLedger(SOURCE, { stored: stored as never }), { status: "MALFORMED" })
    }
    const ledger = await opened()
    for (const changes of [
      { value: null },
      { value: Number.NaN },
      { subject: 7 },
      { time: "x" },
      { data: { value: 1 } },
    ]) {
      assert.deepStrictEqual(await ledger.append({ ...usage, ...changes } as never), { status: "MALFORMED" })
    }
    assert.deepStrictEqual(await ledger.append(null as never), { status: "MALFORMED" })
    assert.strictEqual(ledger.position().lines, 0)
  })
})
