import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { eventText } from "../../src/domains/events/log/EventText.ts"
import { verifierKeyOf } from "../../src/domains/signing/VerifierKey.ts"
import { openCheckpoint, readVerifierKey } from "../../src/domains/audit/rules/Notes.ts"
import { isConsistent, isIncluded, proofText, readProof } from "../../src/domains/audit/rules/Proofs.ts"
import {
  consistencyRanges,
  inclusionRanges,
  leafHash,
  makeGrowth,
  neededFor,
  rootOf,
} from "../../src/domains/audit/rules/Tree.ts"
import type { Hash, LeafRange } from "../../src/domains/audit/rules/Tree.ts"
import type { Finding } from "../../src/domains/audit/rules/Verification.ts"
import { verificationOf } from "../../src/domains/audit/rules/Verification.ts"
import type { OrganizationId } from "../../src/kernel/values/Identifiers.ts"

interface VectorEvent {
  readonly id: string
  readonly type: string
  readonly timestamp: string
  readonly organizationId: OrganizationId
  readonly actor: { readonly id: string; readonly name: string }
  readonly data: string
  readonly previous?: string
  readonly text: string
  readonly leaf: string
}

interface VectorLog {
  readonly id: string
  readonly rule: string
  readonly events: ReadonlyArray<{ readonly position: number; readonly text: string }>
  readonly hashes: ReadonlyArray<string>
  readonly notes: ReadonlyArray<string>
  readonly expected: { readonly ok: boolean; readonly unsealed: number; readonly findings: ReadonlyArray<object> }
}

interface Vectors {
  readonly origin: string
  readonly key: { readonly x: string; readonly verifierKey: string }
  readonly events: ReadonlyArray<VectorEvent>
  readonly roots: ReadonlyArray<{ readonly size: number; readonly root: string }>
  readonly inclusion: ReadonlyArray<{
    readonly index: number
    readonly size: number
    readonly proof: ReadonlyArray<string>
  }>
  readonly consistency: ReadonlyArray<{
    readonly from: number
    readonly to: number
    readonly proof: ReadonlyArray<string>
  }>
  readonly proofText: string
  readonly notes: ReadonlyArray<{ readonly id: string; readonly note: string; readonly valid: boolean }>
  readonly logs: ReadonlyArray<VectorLog>
}

const fixture = new URL("../fixtures/offline/audit.json", import.meta.url)
const vectors: Vectors = JSON.parse(readFileSync(fixture, "utf8"))

const key = vectors.key.x
const leaves = vectors.events.map(({ text }) => leafHash(text))
const base64 = (hash: Hash) => Buffer.from(hash).toString("base64")
const rootsOf = (ranges: ReadonlyArray<LeafRange>) =>
  ranges.map((range) =>
    base64(rootOf(range, (level, index) => (level === 0 ? leaves[index] : undefined)) ?? leaves[0]!),
  )
const rootAt = (size: number) => Buffer.from(vectors.roots.find((root) => root.size === size)?.root ?? "", "base64")

/** What a vector names of a finding. */
const named = (finding: Finding): object =>
  "position" in finding
    ? { kind: finding.kind, position: finding.position }
    : {
        kind: finding.kind,
        note: finding.note,
        ...(finding.size === undefined ? {} : { size: finding.size }),
      }

describe("the vectors of the event log", () => {
  it.each(vectors.events.map((event) => [event.id, event] as const))("leaf %s", (_, event) => {
    const text = eventText({ ...event, timestamp: new Date(event.timestamp), previous: event.previous ?? null })
    assert.strictEqual(text, event.text)
    assert.strictEqual(base64(leafHash(text)), event.leaf)
  })

  it("roots", () => {
    const growing = makeGrowth()
    for (const { root, size } of vectors.roots) {
      while (growing.size() < size) growing.add(leaves[growing.size()]!)
      assert.strictEqual(base64(growing.root()), root)
      assert.deepStrictEqual(rootsOf([{ from: 0, to: size }]), [root])
    }
    assert.isTrue(neededFor([{ from: 0, to: 11 }]).every(({ level }) => level === 0))
  })

  it("inclusion", () => {
    for (const { index, proof, size } of vectors.inclusion) {
      assert.deepStrictEqual(rootsOf(inclusionRanges(index, size)), proof)
      const hashes = proof.map((hash) => Buffer.from(hash, "base64"))
      assert.isTrue(isIncluded(leaves[index]!, index, { size, root: rootAt(size) }, hashes))
    }
  })

  it("consistency", () => {
    for (const { from, proof, to } of vectors.consistency) {
      assert.deepStrictEqual(rootsOf(consistencyRanges(from, to)), proof)
      const hashes = proof.map((hash) => Buffer.from(hash, "base64"))
      assert.isTrue(isConsistent({ size: from, root: rootAt(from) }, { size: to, root: rootAt(to) }, hashes))
    }
  })

  it("the text of a proof", () => {
    const read = readProof(vectors.proofText)
    assert.isDefined(read)
    assert.strictEqual(proofText(read), vectors.proofText)
    const checkpoint = openCheckpoint(read.checkpoint, vectors.origin, [key])
    assert.isTrue(isIncluded(leaves[read.index]!, read.index, checkpoint!, read.hashes))
  })

  it("the verifier key", () => {
    assert.strictEqual(verifierKeyOf(vectors.events[0]!.organizationId, key), vectors.key.verifierKey)
    assert.deepStrictEqual(readVerifierKey(vectors.key.verifierKey), { name: vectors.origin, x: key })
  })

  it.each(vectors.notes.map((note) => [note.id, note] as const))("note %s", (_, { note, valid }) => {
    assert.strictEqual(openCheckpoint(note, vectors.origin, [key]) !== undefined, valid)
  })

  it.each(vectors.logs.map((log) => [log.id, log] as const))("log %s", (_, log) => {
    const verification = verificationOf({ origin: vectors.origin, base: 0, keys: [key] }, log.notes)
    const byPosition = new Map(log.events.map((event) => [event.position, event]))
    log.hashes.forEach((hash, index) => verification.sealed(Buffer.from(hash, "base64"), byPosition.get(index + 1)))
    verification.unsealed(log.events.filter(({ position }) => position > log.hashes.length).length)
    const findings = Array.from(verification.findings(), named)
    assert.deepStrictEqual(
      { ok: findings.length === 0, unsealed: verification.unsealedCount(), findings },
      log.expected,
    )
  })
})
