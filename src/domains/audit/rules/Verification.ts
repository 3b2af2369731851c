/**
 * Verifies an event log against its hashes and its signed notes, one event after the other, so that a log of any length needs little
 * memory: one entry for each note, each gap and each finding. Pure.
 */
import { Predicate } from "effect"
import { openCheckpoint, openPruned } from "./Notes.ts"
import type { Checkpoint, Pruned } from "./Notes.ts"
import { isSameHash, leafHash, makeGrowth } from "./Tree.ts"
import type { Hash, TreeNode } from "./Tree.ts"

/** A finding about an event, or about the hashes up to its position. */
interface EventFinding {
  readonly kind: "EVENT_CHANGED" | "EVENT_MISSING" | "HISTORY_REWRITTEN"
  readonly position: number
  /** The id that the event has now, if it has one. */
  readonly eventId?: string
  readonly what: string
}

/** A finding about a note. */
interface NoteFinding {
  readonly kind: "CHECKPOINT_INVALID" | "HISTORY_REWRITTEN" | "LOG_SHORTER"
  /** The number of the note in the order in which the notes were given, from 0. */
  readonly note: number
  /** The size that the note names, but for an invalid one. */
  readonly size?: number
  readonly what: string
}

/** What is wrong with a log. */
export type Finding = EventFinding | NoteFinding

/** An event as it is found: its text, and what is wrong beside the text, such as a column that differs from it. */
export interface FoundEvent {
  readonly position: number
  readonly text: string
  readonly wrong?: string
}

/** Which log is verified, and by what. */
interface LogIdentity {
  /** The first line of its checkpoints. */
  readonly origin: string
  /** The name of its keys; the origin if it is not given. */
  readonly signer?: string
  /** The position before the first event of the tree. */
  readonly base: number
  /** The public keys that are trusted, in base64url. */
  readonly keys: ReadonlyArray<string>
}

/** A verification that takes a log in order of positions. */
export interface Verification {
  /**
   * Expects stored nodes above the leaves, which are compared when their last leaf was taken. A log whose nodes are not stored, such
   * as an export, expects none.
   */
  readonly expect: (nodes: ReadonlyArray<TreeNode>) => void
  /** Takes the next hash of the tree, and the event at its position, if there is one. */
  readonly sealed: (hash: Hash, event: FoundEvent | undefined) => void
  /** Takes events that have no hash: the newest ones, and those before the tree. */
  readonly unsealed: (count: number) => void
  /** The findings: those about events by position, then those about notes. Call it at the end. */
  readonly findings: () => Iterable<Finding>
  /** How many events have no hash. */
  readonly unsealedCount: () => number
  /** How many hashes were taken. */
  readonly size: () => number
}

interface Gap {
  readonly from: number
  to: number
}

const PRUNED = `"type":"EVENTS_PRUNED"`

const objectOf = (text: string): object | undefined => {
  try {
    const value: unknown = JSON.parse(text)
    return Predicate.isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

const idOf = (text: string): { readonly eventId?: string } => {
  const event = objectOf(text)
  return Predicate.hasProperty(event, "id") && Predicate.isString(event.id) ? { eventId: event.id } : {}
}

/**
 * What an event of retention deleted; `undefined` for other events, and if the note is not signed by the service, or says something
 * other than the event.
 */
const prunedBy = (text: string, { keys, origin, signer = origin }: LogIdentity): Pruned | undefined => {
  // Most events are not parsed.
  const event = text.includes(PRUNED) ? objectOf(text) : undefined
  if (!Predicate.hasProperty(event, "type") || event.type !== "EVENTS_PRUNED") return undefined
  const data = Predicate.hasProperty(event, "data") ? event.data : undefined
  const signed =
    Predicate.hasProperty(data, "note") && Predicate.isString(data.note)
      ? openPruned(data.note, signer, keys)
      : undefined
  const isSame =
    Predicate.hasProperty(data, "upTo") &&
    data.upTo === signed?.upTo &&
    Predicate.hasProperty(data, "before") &&
    data.before === signed?.before
  return isSame ? signed : undefined
}

/** Begins the verification of a log. `notes` are its checkpoints, those stored and those saved elsewhere. */
export const verificationOf = (log: LogIdentity, notes: Iterable<string>): Verification => {
  const checkpoints = Array.from(notes, (note): Checkpoint | undefined =>
    openCheckpoint(note, log.origin, log.keys, log.signer),
  )
  const sizes = [...new Set(checkpoints.flatMap((checkpoint) => checkpoint?.size ?? []))].sort((a, b) => a - b)
  const roots = new Map<number, Hash>()
  const expected = new Map<string, Hash>()
  const wrongNodes: Array<EventFinding> = []
  let isStored = false
  const tree = makeGrowth(({ hash, index, level }) => {
    const key = `${level}/${index}`
    const stored = expected.get(key)
    expected.delete(key)
    if (!isStored || (stored !== undefined && isSameHash(stored, hash))) return
    const position = log.base + (index + 1) * 2 ** level
    wrongNodes.push({
      kind: "HISTORY_REWRITTEN",
      position,
      what: `The stored hash of the ${2 ** level} events up to here is not theirs`,
    })
  })
  const gaps: Array<Gap> = []
  const changed: Array<EventFinding> = []
  let awaited = 0
  let unsealed = 0
  let prunedTo = 0

  const noteRoots = () => {
    if (sizes[awaited] !== tree.size()) return
    roots.set(tree.size(), tree.root())
    awaited += 1
  }
  noteRoots()

  const missing = (position: number) => {
    const last = gaps.at(-1)
    if (last !== undefined && last.to === position - 1) last.to = position
    else gaps.push({ from: position, to: position })
  }

  const sealed = (hash: Hash, event: FoundEvent | undefined) => {
    tree.add(hash)
    noteRoots()
    const position = log.base + tree.size()
    if (event === undefined) return missing(position)
    if (!isSameHash(leafHash(event.text), hash)) {
      const what = "The event is not the one that was sealed at this position, or its hash was removed"
      return void changed.push({ kind: "EVENT_CHANGED", position, ...idOf(event.text), what })
    }
    if (event.wrong !== undefined) {
      return void changed.push({ kind: "EVENT_CHANGED", position, ...idOf(event.text), what: event.wrong })
    }
    prunedTo = Math.max(prunedTo, prunedBy(event.text, log)?.upTo ?? 0)
  }

  const missingEvents = function* (): Generator<EventFinding> {
    for (const { from, to } of gaps) {
      for (let position = Math.max(from, prunedTo + 1); position <= to; position++) {
        yield {
          kind: "EVENT_MISSING",
          position,
          what: "The event was removed, and no sealed record of retention covers it",
        }
      }
    }
  }

  const eventFindings = function* (): Generator<EventFinding> {
    let next = 0
    for (const gone of missingEvents()) {
      while (next < changed.length && (changed[next] as EventFinding).position < gone.position) {
        yield changed[next++] as EventFinding
      }
      yield gone
    }
    for (const finding of changed.slice(next)) yield finding
  }

  const noteFindings = function* (): Generator<NoteFinding> {
    for (const [note, checkpoint] of checkpoints.entries()) {
      if (checkpoint === undefined) {
        yield { kind: "CHECKPOINT_INVALID", note, what: "The note is not one that a key of the log signed" }
        continue
      }
      const { root, size } = checkpoint
      const found = roots.get(size)
      if (found === undefined) {
        yield { kind: "LOG_SHORTER", note, size, what: `The log has only ${tree.size()} sealed events` }
      } else if (!isSameHash(found, root)) {
        yield { kind: "HISTORY_REWRITTEN", note, size, what: "The log had other events when the note was signed" }
      }
    }
  }

  return {
    expect: (nodes) => {
      isStored = true
      for (const { hash, index, level } of nodes) expected.set(`${level}/${index}`, hash)
    },
    sealed,
    unsealed: (count) => void (unsealed += count),
    findings: function* () {
      for (const finding of eventFindings()) yield finding
      for (const finding of wrongNodes) yield finding
      for (const finding of noteFindings()) yield finding
    },
    unsealedCount: () => unsealed,
    size: tree.size,
  }
}
