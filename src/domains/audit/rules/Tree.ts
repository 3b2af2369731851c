/**
 * The Merkle tree of an event log (RFC 6962, section 2.1). A leaf is the text of an event. Of the nodes above the leaves, those of
 * every eighth level are stored, so that roots and proofs read at most 255 hashes a level. Pure.
 */
import { hash as digest } from "node:crypto"

/** A SHA-256 hash: 32 bytes. */
export type Hash = Uint8Array

const LEAF = "\u0000"
const NODE = 1
const HASH_BYTES = 32

/** The levels whose nodes are stored. A node of a level covers `2 ** level` leaves. */
export const LEVELS = [0, 8, 16, 24] as const
/** The distance of the levels. */
export const STEP = 8
const TOP = 24
/** The nodes of a level below one node of the next stored level. */
export const FANOUT = 2 ** STEP

/** The hash of a leaf. */
export const leafHash = (text: string): Hash => digest("sha256", LEAF + text, "buffer")

/** The hash of a node. */
export const nodeHash = (left: Hash, right: Hash): Hash => {
  const bytes = Buffer.allocUnsafe(1 + 2 * HASH_BYTES)
  bytes[0] = NODE
  bytes.set(left, 1)
  bytes.set(right, 1 + HASH_BYTES)
  return digest("sha256", bytes, "buffer")
}

/** The root of a tree without leaves. */
export const emptyRoot: Hash = digest("sha256", "", "buffer")

/** Whether two hashes are the same. */
export const isSameHash = (left: Hash, right: Hash): boolean => Buffer.compare(left, right) === 0

/** Leaves from `from` on, before `to`. */
export interface LeafRange {
  readonly from: number
  readonly to: number
}

/** Stored nodes of a level, from `from` on, before `to`. */
export interface NodeRange extends LeafRange {
  readonly level: number
}

/** A stored node. */
export interface TreeNode {
  readonly level: number
  readonly index: number
  readonly hash: Hash
}

/** Finds a stored node. */
export type NodeLookup = (level: number, index: number) => Hash | undefined

/** The largest power of two below a number of leaves, of 2 or more. */
const splitOf = (count: number): number => 2 ** Math.ceil(Math.log2(count) - 1)

/** The stored nodes that make up a complete subtree of `width` leaves. */
const nodesOf = (from: number, width: number): NodeRange => {
  const height = Math.round(Math.log2(width))
  const level = Math.min(TOP, height - (height % STEP))
  const size = 2 ** level
  return { level, from: from / size, to: (from + width) / size }
}

/** The complete subtrees of a range, largest first: the ones of the binary digits of its length. */
const completeOf = ({ from, to }: LeafRange): ReadonlyArray<LeafRange> => {
  const found: Array<LeafRange> = []
  for (let start = from; start < to;) {
    const width = 2 ** Math.floor(Math.log2(to - start))
    found.push({ from: start, to: start + width })
    start += width
  }
  return found
}

/** The stored nodes from which the roots of these ranges follow. */
export const neededFor = (ranges: ReadonlyArray<LeafRange>): ReadonlyArray<NodeRange> =>
  ranges.flatMap(completeOf).map(({ from, to }) => nodesOf(from, to - from))

/** The root of nodes that make up a complete subtree. */
const rootOfComplete = (nodes: ReadonlyArray<Hash>): Hash => {
  let row = nodes
  while (row.length > 1) {
    const above: Array<Hash> = []
    for (let at = 0; at < row.length; at += 2) above.push(nodeHash(row[at] as Hash, row[at + 1] as Hash))
    row = above
  }
  return row[0] as Hash
}

/** The root of subtrees, each larger than the next. */
const rootOfSubtrees = (roots: ReadonlyArray<Hash>): Hash =>
  roots.length === 0 ? emptyRoot : roots.reduceRight((right, left) => nodeHash(left, right))

/**
 * The root of a range that is the whole tree or a subtree of it, from the nodes of {@link neededFor}; `undefined` if one of them is
 * not stored.
 */
export const rootOf = (range: LeafRange, lookup: NodeLookup): Hash | undefined => {
  const roots: Array<Hash> = []
  for (const { from, to } of completeOf(range)) {
    const nodes = nodesOf(from, to - from)
    const hashes: Array<Hash> = []
    for (let index = nodes.from; index < nodes.to; index++) {
      const hash = lookup(nodes.level, index)
      if (hash === undefined) return undefined
      hashes.push(hash)
    }
    roots.push(rootOfComplete(hashes))
  }
  return rootOfSubtrees(roots)
}

/** The subtrees whose roots prove that the leaf `index` is in the tree of `size` leaves, in the order of the proof. */
export const inclusionRanges = (index: number, size: number): ReadonlyArray<LeafRange> => {
  const path = (from: number, to: number): ReadonlyArray<LeafRange> => {
    if (to - from < 2) return []
    const middle = from + splitOf(to - from)
    return index < middle ? [...path(from, middle), { from: middle, to }] : [...path(middle, to), { from, to: middle }]
  }
  return path(0, size)
}

/** The subtrees whose roots prove that the tree of `first` leaves is the beginning of the tree of `second`. */
export const consistencyRanges = (first: number, second: number): ReadonlyArray<LeafRange> => {
  const path = (from: number, to: number, isWhole: boolean): ReadonlyArray<LeafRange> => {
    if (first === to) return isWhole ? [] : [{ from, to }]
    const middle = from + splitOf(to - from)
    return first <= middle
      ? [...path(from, middle, isWhole), { from: middle, to }]
      : [...path(middle, to, false), { from, to: middle }]
  }
  return first === 0 ? [] : path(0, second, true)
}

/** The nodes above the leaves that are complete once a tree of `size` leaves has grown to `grown`, lower levels first. */
export const completedRanges = (size: number, grown: number): ReadonlyArray<NodeRange> =>
  LEVELS.slice(1)
    .map((level) => ({ level, from: Math.floor(size / 2 ** level), to: Math.floor(grown / 2 ** level) }))
    .filter(({ from, to }) => from < to)

/** The hash of a node from the {@link FANOUT} hashes below it, one after the other; `undefined` if it does not have as many. */
export const nodeAbove = (below: Uint8Array): Hash | undefined =>
  below.length === FANOUT * HASH_BYTES
    ? rootOfComplete(Array.from({ length: FANOUT }, (_, at) => below.subarray(at * HASH_BYTES, (at + 1) * HASH_BYTES)))
    : undefined

/** The roots of a tree while it grows. It holds one hash for each binary digit of its size. */
interface Growth {
  readonly add: (leaf: Hash) => void
  readonly size: () => number
  readonly root: () => Hash
}

/** A tree without leaves that grows. `onNode` gets each node above the leaves that is to be stored, when it is complete. */
export const makeGrowth = (onNode: (node: TreeNode) => void = () => {}): Growth => {
  const subtrees: Array<Hash> = []
  let size = 0
  return {
    add: (leaf) => {
      let hash = leaf
      let height = 0
      for (let rest = size; rest % 2 === 1; rest = Math.floor(rest / 2)) {
        hash = nodeHash(subtrees.pop() as Hash, hash)
        height += 1
        if (height % STEP === 0 && height <= TOP) onNode({ level: height, index: Math.floor(size / 2 ** height), hash })
      }
      subtrees.push(hash)
      size += 1
    },
    size: () => size,
    root: () => rootOfSubtrees(subtrees),
  }
}
