import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { hash } from "node:crypto"
import { isConsistent, isIncluded } from "../../src/domains/audit/rules/Proofs.ts"
import {
  completedRanges,
  consistencyRanges,
  inclusionRanges,
  leafHash,
  makeGrowth,
  neededFor,
  nodeAbove,
  openNodes,
  rootOf,
} from "../../src/domains/audit/rules/Tree.ts"
import type { Hash, LeafRange, NodeRange } from "../../src/domains/audit/rules/Tree.ts"

const sha256 = (...parts: ReadonlyArray<Uint8Array>): Buffer => hash("sha256", Buffer.concat(parts), "buffer")

/** Leaves, of which the definitions take `D[from:to]`. Each hash of a range is computed once. */
interface Leaves {
  readonly hashes: ReadonlyArray<Hash>
  readonly known: Map<string, Hash>
}

const leavesAre = (hashes: ReadonlyArray<Hash>): Leaves => ({ hashes, known: new Map() })

/** The definitions of RFC 6962, section 2.1, word by word. */
const MTH = (d: Leaves, from: number, to: number): Hash => {
  const n = to - from
  if (n === 0) return sha256()
  if (n === 1) return d.hashes[from]!
  const key = `${from}:${to}`
  const found = d.known.get(key)
  if (found !== undefined) return found
  const k = largestPowerOfTwoBelow(n)
  const node = sha256(Buffer.of(1), MTH(d, from, from + k), MTH(d, from + k, to))
  d.known.set(key, node)
  return node
}
const PATH = (m: number, d: Leaves, from: number, to: number): ReadonlyArray<Hash> => {
  if (to - from === 1) return []
  const k = largestPowerOfTwoBelow(to - from)
  return m < k
    ? [...PATH(m, d, from, from + k), MTH(d, from + k, to)]
    : [...PATH(m - k, d, from + k, to), MTH(d, from, from + k)]
}
const SUBPROOF = (m: number, d: Leaves, from: number, to: number, b: boolean): ReadonlyArray<Hash> => {
  if (m === to - from) return b ? [] : [MTH(d, from, to)]
  const k = largestPowerOfTwoBelow(to - from)
  return m <= k
    ? [...SUBPROOF(m, d, from, from + k, b), MTH(d, from + k, to)]
    : [...SUBPROOF(m - k, d, from + k, to, false), MTH(d, from, from + k)]
}
const largestPowerOfTwoBelow = (n: number): number => {
  let k = 1
  while (k * 2 < n) k *= 2
  return k
}

const leavesOf = (count: number) => Array.from({ length: count }, (_, at) => leafHash(`event ${at}`))

/** Stored nodes of a tree, and how many were read. */
const makeStore = () => {
  const nodes = new Map<string, Hash>()
  const lookup = (level: number, index: number) => nodes.get(`${level}/${index}`)
  let size = 0
  return {
    nodes,
    lookup,
    add: (leaves: ReadonlyArray<Hash>) => {
      const set = (level: number, index: number, node: Hash) => {
        assert.isFalse(nodes.has(`${level}/${index}`))
        nodes.set(`${level}/${index}`, node)
      }
      leaves.forEach((leaf, at) => set(0, size + at, leaf))
      for (const { from, level, to } of completedRanges(size, size + leaves.length)) {
        for (let index = from; index < to; index++) {
          const below = Array.from({ length: 256 }, (_, at) => lookup(level - 8, index * 256 + at)!)
          set(level, index, nodeAbove(Buffer.concat(below))!)
        }
      }
      size += leaves.length
    },
  }
}

const rootsOf = (
  ranges: ReadonlyArray<LeafRange>,
  lookup: (level: number, index: number) => Hash | undefined,
): ReadonlyArray<Hash> => ranges.flatMap((range) => rootOf(range, lookup) ?? [])

const Size = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 700 }))
const Fraction = Schema.Number.check(Schema.isBetween({ minimum: 0, maximum: 0.999 }))

describe("the tree of an event log", () => {
  it.prop(
    "has the roots and proofs of RFC 6962, which verify, however its leaves arrive",
    [Size, Fraction, Fraction],
    ([count, where, cut]) => {
      const leaves = leavesOf(count)
      const store = makeStore()
      const first = Math.floor(cut * count)
      store.add(leaves.slice(0, first))
      store.add(leaves.slice(first))
      const index = Math.floor(where * count)
      const d = leavesAre(leaves)
      const root = MTH(d, 0, count)
      assert.deepStrictEqual(rootOf({ from: 0, to: count }, store.lookup), root)
      const growing = makeGrowth()
      leaves.forEach(growing.add)
      assert.deepStrictEqual(growing.root(), root)
      const inclusion = PATH(index, d, 0, count)
      assert.deepStrictEqual(rootsOf(inclusionRanges(index, count), store.lookup), inclusion)
      assert.isTrue(isIncluded(leaves[index]!, index, { size: count, root }, inclusion))
      const older = { size: index + 1, root: MTH(d, 0, index + 1) }
      const consistency = SUBPROOF(older.size, d, 0, count, true)
      assert.deepStrictEqual(rootsOf(consistencyRanges(older.size, count), store.lookup), consistency)
      assert.isTrue(isConsistent(older, { size: count, root }, consistency))
    },
  )

  it.prop(
    "proves nothing else: no other leaf, no other place, no changed hash, no other beginning",
    [Size, Fraction, Fraction],
    ([count, where, which]) => {
      const leaves = leavesOf(count)
      const index = Math.floor(where * count)
      const d = leavesAre(leaves)
      const tree = { size: count, root: MTH(d, 0, count) }
      const proof = PATH(index, d, 0, count)
      const leaf = leaves[index]!
      const other = leafHash("another event")
      assert.isFalse(isIncluded(other, index, tree, proof))
      for (const place of [index - 1, index + 1, count]) assert.isFalse(isIncluded(leaf, place, tree, proof))
      const changed = (hashes: ReadonlyArray<Hash>) =>
        hashes.map((one, at) => (at === Math.floor(which * hashes.length) ? other : one))
      if (proof.length > 0) assert.isFalse(isIncluded(leaf, index, tree, changed(proof)))
      assert.isFalse(isIncluded(leaf, index, tree, [...proof, other]))
      const older = { size: index + 1, root: MTH(d, 0, index + 1) }
      const consistency = SUBPROOF(older.size, d, 0, count, true)
      assert.isFalse(isConsistent({ ...older, root: other }, tree, consistency))
      assert.isFalse(isConsistent(older, { ...tree, root: other }, consistency))
      if (consistency.length > 0) assert.isFalse(isConsistent(older, tree, changed(consistency)))
      assert.isFalse(isConsistent(older, tree, [...consistency, other]))
    },
  )

  it("stores a node above each full 256, of each level, and reads few hashes for a proof in a large tree", () => {
    const store = makeStore()
    const leaves = Array.from({ length: 66_000 }, (_, at) => Buffer.from(String(at).padStart(32)))
    const d = leavesAre(leaves)
    for (let at = 0; at < leaves.length; at += 1_000) store.add(leaves.slice(at, at + 1_000))
    assert.strictEqual(store.nodes.size, 66_000 + Math.floor(66_000 / 256) + 1)
    assert.deepStrictEqual(store.lookup(16, 0), MTH(d, 0, 65_536))
    assert.deepStrictEqual(rootOf({ from: 0, to: 66_000 }, store.lookup), MTH(d, 0, 66_000))
    assert.deepStrictEqual(rootsOf(inclusionRanges(1, 66_000), store.lookup), PATH(1, d, 0, 66_000))
    const read = (ranges: ReadonlyArray<NodeRange>) => ranges.reduce((sum, { from, to }) => sum + to - from, 0)
    for (const size of [1_000_000, 20_000_000, 5_000_000_000]) {
      for (const index of [0, 1, 255, 256, 65_535, 999_999, size - 1]) {
        assert.isAtMost(read(neededFor(inclusionRanges(index, size))), 4 * 255 + 300)
      }
    }
    // 5,000,000,000 is 0x01_2a_05_f2_00.
    assert.deepStrictEqual([0, 255, 256, 65_536, 5_000_000_000].map(openNodes), [0, 255, 1, 1, 0x00 + 0xf2 + 0x05])
    assert.isUndefined(nodeAbove(Buffer.alloc(255 * 32)))
  })
})
