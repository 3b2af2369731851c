/** Reads stored event logs from start to end, to verify and to export them. Each is read as it is at one moment. */
import { Context, Effect, Layer } from "effect"
import { Transactions } from "../../../kernel/database/Transactions.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { EventLog, sizeOf } from "../../events/log/EventLog.ts"
import { EventLeaves } from "../../events/log/Leaves.ts"
import type { LogEvent } from "../../events/log/EventLog.ts"
import { eventText, isOfItsRecords } from "../../events/log/EventText.ts"
import { Signer } from "../../signing/Signer.ts"
import { logOrigin } from "../../signing/VerifierKey.ts"
import { AuditRepo } from "../Repo.ts"
import type { LogEntry } from "../rules/Export.ts"
import { checkpointOriginOf } from "../rules/Notes.ts"
import { FANOUT } from "../rules/Tree.ts"
import { verificationOf } from "../rules/Verification.ts"
import type { Verification } from "../rules/Verification.ts"

/** Positions per statement: whole blocks of leaves. */
const PAGE = 8 * FANOUT

/** The hash of a leaf whose hash was removed: that of no event. */
const NO_HASH = new Uint8Array(32)

/** A log whose notes are known, and how they are verified. */
interface LogToVerify {
  readonly organizationId: OrganizationId
  /** The public keys that are trusted, in base64url; those of the database if there are none. */
  readonly keys: ReadonlyArray<string>
  /** Notes that were saved elsewhere. */
  readonly savedNotes: ReadonlyArray<string>
}

/** The result of a verification, and the sizes of the stored checkpoints, which were verified before the saved ones. */
interface VerifiedLog {
  readonly verification: Verification
  readonly storedSizes: ReadonlyArray<number>
}

interface Page {
  readonly from: number
  readonly entries: ReadonlyArray<LogEntry & { readonly hash: Uint8Array; readonly event: LogEvent | undefined }>
}

/** What is wrong with the columns beside the text of an event, by which readers find it. */
const wrongColumns = (event: LogEvent): { readonly wrong?: string } => {
  if (!isOfItsRecords(event)) return { wrong: "The columns resource and owner are not those of the event's data" }
  return event.isIndexed ? {} : { wrong: "Filters do not find the event by its own type, resource and actor" }
}

/** Verifies and exports event logs. */
export class LogReader extends Context.Service<
  LogReader,
  {
    /** The organizations with their slugs. */
    readonly organizations: Effect.Effect<ReadonlyArray<{ readonly id: OrganizationId; readonly slug: string }>>
    /** Verifies a log: its events, its hashes, its stored checkpoints and the saved ones. */
    readonly verify: (request: LogToVerify) => Effect.Effect<VerifiedLog>
    /** Reads all entries of a log in order, and returns its stored checkpoints. */
    readonly exportTo: <E>(
      organizationId: OrganizationId,
      write: (entries: ReadonlyArray<LogEntry>) => Effect.Effect<void, E>,
    ) => Effect.Effect<ReadonlyArray<string>, E>
  }
>()("keyshelf/audit/LogReader") {
  static readonly layer = Layer.suspend(() => Layer.effect(LogReader, make))
}

/** Returns what reads a log in pages, up to the last position of its tree, which it returns. */
const pages = (log: EventLog["Service"], leaves: EventLeaves["Service"]) => {
  const readPage = Effect.fnUntraced(function* (
    organizationId: OrganizationId,
    base: number,
    from: number,
    size: number,
  ) {
    const count = Math.min(PAGE, size - from)
    const hashes = new Map(
      (yield* leaves.read(organizationId, [{ from, to: from + count }])).map(
        ({ hash, index }) => [index, hash] as const,
      ),
    )
    const events = new Map(
      (yield* log.readBetween(organizationId, base + from, base + from + count)).map((event) => [
        event.position,
        event,
      ]),
    )
    const entries = Array.from({ length: count }, (_, at) => {
      const position = base + from + at + 1
      const event = events.get(position)
      const hash = hashes.get(from + at) ?? NO_HASH
      return { position, hash, event, ...(event === undefined ? {} : { text: eventText(event) }) }
    })
    return { from, entries } satisfies Page
  })

  return Effect.fnUntraced(function* <E>(organizationId: OrganizationId, use: (page: Page) => Effect.Effect<void, E>) {
    const stream = yield* log.stream(organizationId)
    const { base } = stream
    const size = sizeOf(stream)
    for (let from = 0; from < size; from += PAGE) yield* use(yield* readPage(organizationId, base, from, size))
    return base + size
  })
}

/** Returns what reads the stored checkpoints of a log, in the order of their sizes. */
const notesIn = (repo: AuditRepo["Service"]) =>
  Effect.fnUntraced(function* (organizationId: OrganizationId) {
    const notes: Array<{ readonly note: string; readonly size: number }> = []
    for (;;) {
      const page = yield* repo.checkpointsAfter(organizationId, notes.at(-1)?.size ?? -1, PAGE)
      notes.push(...page.map(({ note, size }) => ({ note, size })))
      if (page.length < PAGE) return notes
    }
  })

const make = Effect.gen(function* () {
  const log = yield* EventLog
  const repo = yield* AuditRepo
  const signer = yield* Signer
  const transactions = yield* Transactions

  const atOneMoment = <A, E>(work: Effect.Effect<A, E>) => transactions.run(Effect.andThen(repo.readSnapshot, work))

  const forEachPage = pages(log, yield* EventLeaves)
  const storedNotes = notesIn(repo)

  const verifyNow = Effect.fnUntraced(function* ({ keys, organizationId, savedNotes }: LogToVerify) {
    const trusted = keys.length > 0 ? keys : (yield* signer.known(organizationId, "audit")).map(({ x }) => x)
    const { base, log: number } = yield* log.stream(organizationId)
    const name = logOrigin(organizationId)
    const stored = yield* storedNotes(organizationId)
    const notes = [...stored.map(({ note }) => note), ...savedNotes]
    const verification = verificationOf(
      { origin: checkpointOriginOf(name, number), signer: name, base, keys: trusted },
      notes,
    )
    verification.expect([])
    const last = yield* forEachPage(organizationId, ({ entries, from }) =>
      Effect.map(repo.nodesAbove(organizationId, from, from + entries.length), (nodes) => {
        verification.expect(nodes)
        for (const { event, hash, position, text } of entries) {
          if (event === undefined || text === undefined) {
            verification.sealed(hash, undefined)
            continue
          }
          verification.sealed(hash, { position, text, ...wrongColumns(event) })
        }
      }),
    )
    verification.unsealed(yield* log.countOutside(organizationId, base, last))
    const result: VerifiedLog = { verification, storedSizes: stored.map(({ size }) => size) }
    return result
  })

  const exportNow = Effect.fnUntraced(function* <E>(
    organizationId: OrganizationId,
    write: (entries: ReadonlyArray<LogEntry>) => Effect.Effect<void, E>,
  ) {
    const last = yield* forEachPage(organizationId, ({ entries }) => write(entries))
    for (let after = last; ;) {
      const events = yield* log.readAfter(organizationId, after, PAGE)
      yield* write(events.map((event) => ({ position: event.position, text: eventText(event) })))
      if (events.length < PAGE) break
      after = events.at(-1)?.position ?? after
    }
    return (yield* storedNotes(organizationId)).map(({ note }) => note)
  })

  return {
    organizations: repo.organizations,
    verify: (request: LogToVerify) => atOneMoment(verifyNow(request)),
    exportTo: <E>(
      organizationId: OrganizationId,
      write: (entries: ReadonlyArray<LogEntry>) => Effect.Effect<void, E>,
    ): Effect.Effect<ReadonlyArray<string>, E> => atOneMoment(exportNow(organizationId, write)),
  }
})
