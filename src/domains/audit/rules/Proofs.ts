/** Verifying proofs of the tree (RFC 6962, section 2.1), and the text of a proof (C2SP `tlog-proof`). Pure. */
import { bytesOfBase64 } from "./Notes.ts"
import { consistencyRanges, inclusionRanges, isSameHash, nodeHash } from "./Tree.ts"
import type { Hash, LeafRange } from "./Tree.ts"

/**
 * Folds a proof into a root. The ranges of the proof give the place of each hash: one that begins after what was folded is on
 * its right.
 */
const foldOf = (
  start: { readonly hash: Hash; readonly at: number },
  ranges: ReadonlyArray<LeafRange>,
  proof: ReadonlyArray<Hash>,
): Hash =>
  proof.reduce((hash, other, number) => {
    const { from } = ranges[number] as LeafRange
    return from > start.at ? nodeHash(hash, other) : nodeHash(other, hash)
  }, start.hash)

/** Whether the proof shows that the leaf is at `index` of the tree with this size and root. */
export const isIncluded = (
  leaf: Hash,
  index: number,
  tree: { readonly size: number; readonly root: Hash },
  proof: ReadonlyArray<Hash>,
): boolean => {
  if (!Number.isSafeInteger(index) || index < 0 || index >= tree.size) return false
  const ranges = inclusionRanges(index, tree.size)
  return proof.length === ranges.length && isSameHash(foldOf({ hash: leaf, at: index }, ranges, proof), tree.root)
}

/** Whether the proof shows that the first tree is the beginning of the second one. */
export const isConsistent = (
  first: { readonly size: number; readonly root: Hash },
  second: { readonly size: number; readonly root: Hash },
  proof: ReadonlyArray<Hash>,
): boolean => {
  if (first.size > second.size || first.size < 0) return false
  if (first.size === 0) return proof.length === 0
  if (first.size === second.size) return proof.length === 0 && isSameHash(first.root, second.root)
  const ranges = consistencyRanges(first.size, second.size)
  if (proof.length !== ranges.length) return false
  // The subtree that ends where the first tree ends. It is the whole first tree, or the first hash of the proof.
  const [firstRange] = ranges
  const isGiven = firstRange !== undefined && firstRange.to === first.size
  const seed = isGiven ? proof[0] : first.root
  if (seed === undefined) return false
  const rest = isGiven ? { ranges: ranges.slice(1), proof: proof.slice(1) } : { ranges, proof }
  const at = first.size - 1
  const before = rest.ranges.flatMap((range, number) => (range.to <= first.size ? [number] : []))
  const older = foldOf(
    { hash: seed, at },
    before.map((number) => rest.ranges[number] as LeafRange),
    before.map((number) => rest.proof[number] as Hash),
  )
  return isSameHash(older, first.root) && isSameHash(foldOf({ hash: seed, at }, rest.ranges, rest.proof), second.root)
}

const HEADER = "c2sp.org/tlog-proof@v1"

/** A proof that a leaf is in the tree of a checkpoint. */
interface InclusionProof {
  readonly index: number
  readonly hashes: ReadonlyArray<Hash>
  /** The signed note. */
  readonly checkpoint: string
}

/** Writes a proof as a `tlog-proof`. */
export const proofText = ({ checkpoint, hashes, index }: InclusionProof): string =>
  [HEADER, `index ${index}`, ...hashes.map((hash) => Buffer.from(hash).toString("base64")), "", checkpoint].join("\n")

const INDEX = /^index (0|[1-9]\d{0,15})$/

/** Reads a `tlog-proof`; `undefined` if the text is none. It does not verify the proof or the checkpoint. */
export const readProof = (text: string): InclusionProof | undefined => {
  const end = text.indexOf("\n\n")
  if (end < 0) return undefined
  const [header, ...lines] = text.slice(0, end).split("\n")
  if (header !== HEADER) return undefined
  if (lines[0]?.startsWith("extra ") === true) lines.shift()
  const index = INDEX.exec(lines.shift() ?? "")?.[1]
  const hashes = lines.map((line) => bytesOfBase64(line))
  const isComplete = hashes.every((hash) => hash?.length === 32)
  if (index === undefined || !Number.isSafeInteger(Number(index)) || !isComplete) return undefined
  return {
    index: Number(index),
    hashes: hashes.filter((hash) => hash !== undefined),
    checkpoint: text.slice(end + 2),
  }
}
