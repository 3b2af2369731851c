import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { generateKeyPairSync, randomUUID, sign } from "node:crypto"
import {
  checkpointText,
  openCheckpoint,
  prunedOriginOf,
  prunedText,
  signedNote,
} from "../../src/domains/audit/rules/Notes.ts"
import { leafHash, makeGrowth } from "../../src/domains/audit/rules/Tree.ts"
import type { Hash } from "../../src/domains/audit/rules/Tree.ts"
import { verificationOf } from "../../src/domains/audit/rules/Verification.ts"
import type { Finding, FoundEvent } from "../../src/domains/audit/rules/Verification.ts"

const origin = "keyshelf/0198c2b0-0a11-7d52-8a39-2f6c1e8a7054"

const makeKey = () => {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519")
  const { x = "" } = publicKey.export({ format: "jwk" })
  return {
    x,
    note: (name: string, text: string) => signedNote(text, { name, x }, sign(null, Buffer.from(text), privateKey)),
  }
}
type Key = ReturnType<typeof makeKey>

const service = makeKey()
const stranger = makeKey()

const textOf = (type: string, data: object) => JSON.stringify({ id: randomUUID(), type, data })

/** A log as it is stored: events at positions 1, 2, ..., their hashes and some notes. */
interface Log {
  readonly events: ReadonlyArray<string | undefined>
  readonly hashes: ReadonlyArray<Hash>
  readonly notes: ReadonlyArray<string>
}

const noteOf = (hashes: ReadonlyArray<Hash>, key: Key = service) => {
  const tree = makeGrowth()
  hashes.forEach(tree.add)
  return key.note(origin, checkpointText(origin, { size: hashes.length, root: tree.root() }))
}

const logOf = (count: number): Log => {
  const events = Array.from({ length: count }, (_, at) => textOf("CUSTOMER_UPDATED", { at }))
  const hashes = events.map(leafHash)
  const notes = [Math.ceil(count / 3), Math.ceil(count / 2), count].map((size) => noteOf(hashes.slice(0, size)))
  return { events, hashes, notes }
}

const verified = ({ events, hashes, notes }: Log, saved: ReadonlyArray<string> = []): ReadonlyArray<Finding> => {
  const verification = verificationOf({ origin, base: 0, keys: [service.x] }, [...notes, ...saved])
  hashes.forEach((hash, at) => {
    const text = events[at]
    const event: FoundEvent | undefined = text === undefined ? undefined : { position: at + 1, text }
    verification.sealed(hash, event)
  })
  return [...verification.findings()]
}

const Count = Schema.Int.check(Schema.isBetween({ minimum: 4, maximum: 60 }))
const Fraction = Schema.Number.check(Schema.isBetween({ minimum: 0, maximum: 0.999 }))

const first = (findings: ReadonlyArray<Finding>): object => {
  const [finding] = findings
  assert.isDefined(finding)
  return "note" in finding
    ? { kind: finding.kind, size: finding.size }
    : { kind: finding.kind, position: finding.position }
}

const replaced = <A>(items: ReadonlyArray<A>, at: number, item: A) =>
  items.map((each, index) => (index === at ? item : each))

describe("somebody who", () => {
  it.prop("changes nothing is not accused", [Count], ([count]) => {
    assert.deepStrictEqual(verified(logOf(count)), [])
  })

  it.prop("edits events is found at the first of them", [Count, Fraction, Fraction], ([count, one, two]) => {
    const log = logOf(count)
    const places = [Math.floor(one * count), Math.floor(two * count)].sort((a, b) => a - b)
    const events = places.reduce((texts, at) => replaced(texts, at, `${texts[at]} `), log.events)
    assert.deepStrictEqual(first(verified({ ...log, events })), { kind: "EVENT_CHANGED", position: places[0]! + 1 })
  })

  it.prop("removes events is found at the first of them", [Count, Fraction, Fraction], ([count, one, two]) => {
    const log = logOf(count)
    const places = [Math.floor(one * count), Math.floor(two * count)]
    const events = log.events.map((text, at) => (places.includes(at) ? undefined : text))
    const position = Math.min(...places) + 1
    assert.deepStrictEqual(first(verified({ ...log, events })), { kind: "EVENT_MISSING", position })
  })

  it.prop("swaps events is found at both", [Count, Fraction], ([count, one]) => {
    const log = logOf(count)
    const at = Math.floor(one * (count - 1))
    const events = replaced(replaced(log.events, at, log.events[at + 1]), at + 1, log.events[at])
    assert.deepStrictEqual(
      verified({ ...log, events }).map((finding) => ("note" in finding ? finding.note : finding.position)),
      [at + 1, at + 2],
    )
  })

  it.prop("inserts an event and moves the others is found where it stands", [Count, Fraction], ([count, one]) => {
    const log = logOf(count)
    const at = Math.floor(one * count)
    const events = [...log.events.slice(0, at), textOf("CUSTOMER_DELETED", {}), ...log.events.slice(at)]
    assert.deepStrictEqual(first(verified({ ...log, events })), { kind: "EVENT_CHANGED", position: at + 1 })
  })

  it.prop("mends the hashes is found by each note from there on", [Count, Fraction], ([count, one]) => {
    const log = logOf(count)
    const at = Math.floor(one * count)
    const text = textOf("CUSTOMER_DELETED", {})
    const mended = { ...log, events: replaced(log.events, at, text), hashes: replaced(log.hashes, at, leafHash(text)) }
    const found = verified(mended)
    const sizes = log.notes.map((note) => openCheckpoint(note, origin, [service.x])!.size)
    assert.deepStrictEqual(
      found.map((finding): ReadonlyArray<unknown> => ("note" in finding ? [finding.kind, finding.size] : [])),
      sizes.filter((size) => size > at).map((size) => ["HISTORY_REWRITTEN", size]),
    )
    assert.isAbove(found.length, 0)
  })

  it.prop("removes the notes too is found by a saved one", [Count, Fraction], ([count, one]) => {
    const log = logOf(count)
    const at = Math.floor(one * count)
    const text = textOf("CUSTOMER_DELETED", {})
    const mended = {
      events: replaced(log.events, at, text),
      hashes: replaced(log.hashes, at, leafHash(text)),
      notes: [] as ReadonlyArray<string>,
    }
    assert.deepStrictEqual(verified(mended), [])
    const saved = log.notes.slice(-1)
    assert.deepStrictEqual(first(verified(mended, saved)), { kind: "HISTORY_REWRITTEN", size: count })
    // Even if the service's own key signed the forgery.
    const signed = { ...mended, notes: [noteOf(mended.hashes)] }
    assert.deepStrictEqual(first(verified(signed, saved)), { kind: "HISTORY_REWRITTEN", size: count })
    const forged = { ...mended, notes: [noteOf(mended.hashes, stranger)] }
    assert.deepStrictEqual(first(verified(forged)), { kind: "CHECKPOINT_INVALID", size: undefined })
  })

  it.prop("cuts off the end is found by a saved note", [Count, Fraction], ([count, one]) => {
    const log = logOf(count)
    const left = Math.floor(one * count)
    const kept = { events: log.events.slice(0, left), hashes: log.hashes.slice(0, left), notes: [] }
    assert.deepStrictEqual(verified(kept), [])
    assert.deepStrictEqual(first(verified(kept, log.notes.slice(-1))), { kind: "LOG_SHORTER", size: count })
  })

  it.prop("deletes more than retention, or in its name, is found", [Count, Fraction], ([count, one]) => {
    const upTo = Math.max(1, Math.floor(one * count))
    const pruned = { upTo, before: "2026-01-01T00:00:00.000Z" }
    const log = logOf(count)
    const withRecord = (key: Key, data: object) => {
      const note = key.note(prunedOriginOf(origin), prunedText(origin, pruned))
      const record = textOf("EVENTS_PRUNED", { ...pruned, count: upTo, note, ...data })
      const hashes = [...log.hashes, leafHash(record)]
      const events = [...log.events.map((text, at) => (at < upTo ? undefined : text)), record]
      return { events, hashes, notes: [...log.notes, noteOf(hashes)] }
    }
    const honest = withRecord(service, {})
    assert.deepStrictEqual(verified(honest), [])
    if (upTo < count) {
      const more = { ...honest, events: replaced(honest.events, upTo, undefined) }
      assert.deepStrictEqual(
        verified(more).map((finding) => ("note" in finding ? 0 : finding.position)),
        [upTo + 1],
      )
    }
    const missing = { kind: "EVENT_MISSING", position: 1 }
    assert.deepStrictEqual(first(verified(withRecord(stranger, {}))), missing)
    assert.deepStrictEqual(first(verified(withRecord(service, { upTo: upTo + 1 }))), missing)
    assert.deepStrictEqual(first(verified(withRecord(service, { before: "2027-01-01T00:00:00.000Z" }))), missing)
    const unsealed = { ...honest, hashes: honest.hashes.slice(0, -1), notes: [] }
    assert.deepStrictEqual(first(verified(unsealed)), missing)
  })
})
