/** `keyshelf audit`: verifies event logs, exports them, and begins new ones. */
import { Console, Effect, Layer, Option, Stream } from "effect"
import { Command, Flag } from "effect/cli"
import { backend } from "../app/Process.ts"
import { LogReader } from "../domains/audit/log/LogReader.ts"
import { LogRestart } from "../domains/audit/log/LogRestart.ts"
import { entryLine, noteLine, readLine } from "../domains/audit/rules/Export.ts"
import type { LogEntry } from "../domains/audit/rules/Export.ts"
import { readVerifierKey } from "../domains/audit/rules/Notes.ts"
import type { NoteKey } from "../domains/audit/rules/Notes.ts"
import { verificationOf } from "../domains/audit/rules/Verification.ts"
import type { Finding, Verification } from "../domains/audit/rules/Verification.ts"
import { logOrigin } from "../domains/signing/VerifierKey.ts"
import * as Logging from "../infra/telemetry/Logging.ts"
import { print } from "./Ending.ts"
import { CommandFailed } from "./Failure.ts"
import { cannotRead, fileInput, readText, streamLines } from "./input/Input.ts"
import type { OrganizationId } from "../kernel/values/Identifiers.ts"
import { commandLine } from "../infra/PackageFiles.ts"

const failed = (message: string) => new CommandFailed({ message })

/** A checkpoint that was saved in a file. */
interface SavedNote {
  readonly file: string
  readonly note: string
  /** The log that its first line names. */
  readonly origin: string
}

const readSaved = (file: string) =>
  Effect.map(readText("The checkpoint", fileInput(file)), (note): SavedNote => ({
    file,
    note,
    origin: note.slice(0, note.indexOf("\n")),
  }))

const readKey = (text: string) =>
  Effect.fromOption(Option.fromUndefinedOr(readVerifierKey(text))).pipe(
    Effect.mapError(() =>
      failed(`"${text}" is no verifier key. \`${commandLine("signing-keys list")}\` shows it as \`verifierKey\`.`),
    ),
  )

const lineOf = (finding: Finding, nameOfNote: (note: number) => string): string => {
  if ("note" in finding) {
    return `${finding.kind} ${finding.size ?? "-"} - ${nameOfNote(finding.note)}: ${finding.what}`
  }
  return `${finding.kind} ${finding.position} ${finding.eventId ?? "-"} ${finding.what}`
}

/** Prints the findings of a log and what was verified. Returns how many findings there are. */
const report = Effect.fnUntraced(function* (
  log: string,
  verification: Verification,
  notes: { readonly count: number; readonly nameOf: (note: number) => string },
) {
  let count = 0
  for (const finding of verification.findings()) {
    count += 1
    yield* Console.log(lineOf(finding, notes.nameOf))
  }
  yield* Console.log(
    `${log}: ${verification.size()} events sealed, ${verification.unsealedCount()} unsealed, ${notes.count} checkpoints, ${count === 0 ? "no" : count} findings`,
  )
  return count
})

const concluded = (findings: number) =>
  findings === 0 ? Effect.void : Effect.fail(failed(`The verification has ${findings} findings.`))

/** The lines of a file, without all of them in memory. */
const linesOf = (file: string) => {
  const input = fileInput(file)
  return streamLines(input, cannotRead("The export", input))
}

/** The notes of an export. They are at its end, but are needed before its events are verified. */
const notesOf = (file: string) =>
  linesOf(file).pipe(
    Stream.runFold(
      (): Array<string> => [],
      (notes, line) => {
        const read = line.startsWith('{"note"') ? readLine(line) : undefined
        if (read !== undefined && "note" in read) notes.push(read.note)
        return notes
      },
    ),
  )

const verifyExport = Effect.fnUntraced(function* (
  file: string,
  keys: ReadonlyArray<NoteKey>,
  saved: ReadonlyArray<SavedNote>,
) {
  const [key] = keys
  if (key === undefined) {
    return yield* failed(
      "An export is verified with --key, the verifier key of its log. The key must come from elsewhere.",
    )
  }
  const stored = yield* notesOf(file)
  const notes = [...stored, ...saved.map(({ note }) => note)]
  // The checkpoints of a log that was restarted name its number. Only those that the key signed count.
  const newest = stored.at(-1)?.split("\n")[0] ?? key.name
  const origin = newest.startsWith(`${key.name}/`) ? newest : key.name
  let verification: Verification | undefined
  const begin = (base: number) =>
    (verification ??= verificationOf({ origin, signer: key.name, base, keys: keys.map(({ x }) => x) }, notes))
  let last = 0
  let unsealed = 0
  const take = (entry: LogEntry) => {
    if (entry.hash === undefined) {
      unsealed += 1
      return Effect.void
    }
    const log = begin(entry.position - 1)
    if (last > 0 && entry.position !== last + 1) {
      return Effect.fail(failed(`The export has position ${entry.position} after ${last}, where ${last + 1} belongs.`))
    }
    last = entry.position
    log.sealed(entry.hash, entry.text === undefined ? undefined : { position: entry.position, text: entry.text })
    return Effect.void
  }
  yield* linesOf(file).pipe(
    Stream.runForEach((line) => {
      const read = readLine(line)
      if (read === undefined) return Effect.fail(failed(`The export has a line that is none: ${line.slice(0, 80)}`))
      return "note" in read ? Effect.void : take(read)
    }),
  )
  const whole = begin(0)
  whole.unsealed(unsealed)
  const findings = yield* report(key.name, whole, {
    count: notes.length,
    nameOf: (note) => saved[note - stored.length]?.file ?? "a checkpoint of the export",
  })
  return yield* concluded(findings)
})

/** Organizations and what is known of their logs from elsewhere. */
const chosen = Effect.fnUntraced(function* (slug: Option.Option<string>, keys: ReadonlyArray<NoteKey>) {
  const all = yield* (yield* LogReader).organizations
  const named = new Set(keys.map(({ name }) => name))
  const found = all.filter(
    (organization) =>
      (Option.isNone(slug) || slug.value === organization.slug) &&
      (named.size === 0 || named.has(logOrigin(organization.id))),
  )
  if (found.length > 0 || (Option.isNone(slug) && named.size === 0)) return found
  const what = Option.match(slug, { onNone: () => "", onSome: (text) => ` with the slug "${text}"` })
  return yield* failed(
    `There is no organization${what}${named.size === 0 ? "" : " whose log the key signs"}. \`--organization\` takes its slug.`,
  )
})

const verifyDatabase = Effect.fnUntraced(function* (
  slug: Option.Option<string>,
  keys: ReadonlyArray<NoteKey>,
  saved: ReadonlyArray<SavedNote>,
) {
  const reader = yield* LogReader
  const organizations = yield* chosen(slug, keys)
  const isOf = (id: OrganizationId) => (note: SavedNote) =>
    note.origin === logOrigin(id) || note.origin.startsWith(`${logOrigin(id)}/`)
  const strange = saved.find((note) => !organizations.some(({ id }) => isOf(id)(note)))
  if (strange !== undefined && organizations.length !== 1) {
    return yield* failed(`The checkpoint ${strange.file} is of another log: ${strange.origin}.`)
  }
  let findings = 0
  for (const { id, slug: name } of organizations) {
    // All notes of one log are verified. Notes of other logs are not valid for it.
    const own = organizations.length === 1 ? saved : saved.filter(isOf(id))
    const { storedSizes, verification } = yield* reader.verify({
      organizationId: id,
      keys: keys.map(({ x }) => x),
      savedNotes: own.map(({ note }) => note),
    })
    findings += yield* report(name, verification, {
      count: storedSizes.length + own.length,
      nameOf: (note) => own[note - storedSizes.length]?.file ?? `the stored checkpoint of ${storedSizes[note]} events`,
    })
  }
  return yield* concluded(findings)
})

const database = Layer.merge(backend("attach"), Logging.layer)

const organizationFlag = Flag.String("organization").pipe(Flag.withDescription("The slug of the organization"))

const verify = Command.make(
  "verify",
  {
    organization: organizationFlag.pipe(Flag.optional),
    checkpoint: Flag.String("checkpoint").pipe(
      Flag.withDescription("A file with a checkpoint that was saved elsewhere. Can be repeated"),
      Flag.atLeast(0),
    ),
    key: Flag.String("key").pipe(
      Flag.withDescription(
        "The verifier key of the log, as saved elsewhere. Without it, the keys of the database are trusted. Can be repeated",
      ),
      Flag.atLeast(0),
    ),
    export: Flag.String("export").pipe(
      Flag.withDescription("Verify the file that `keyshelf audit export` wrote, without a database. Needs --key"),
      Flag.optional,
    ),
  },
  Effect.fn(function* (flags) {
    const keys = yield* Effect.forEach(flags.key, readKey)
    const saved = yield* Effect.forEach(flags.checkpoint, readSaved)
    yield* Option.match(flags.export, {
      onNone: () => verifyDatabase(flags.organization, keys, saved).pipe(Effect.provide(database)),
      onSome: (file) => verifyExport(file, keys, saved),
    })
  }),
).pipe(
  Command.withDescription(
    "Verify event logs against their hashes, their stored checkpoints and checkpoints that were saved elsewhere. Prints one line per finding: code, position, id of the event, and what is wrong. Exits with 1 if there is one. Can run beside the service, and changes nothing.",
  ),
  Command.withShortDescription("Verify event logs, and print what was changed"),
  Command.withExamples([
    { command: "keyshelf audit verify", description: "All logs of the database" },
    {
      command: "keyshelf audit verify --organization acme --checkpoint saved.txt",
      description: "With a checkpoint that was saved elsewhere",
    },
  ]),
)

/** Writes lines to standard output at once: a pipe that is full stops the reading. */
const write = (lines: ReadonlyArray<string>) => (lines.length === 0 ? Effect.void : print(lines.join("\n")))

const exportCommand = Command.make(
  "export",
  { organization: organizationFlag },
  Effect.fn(function* ({ organization }) {
    const reader = yield* LogReader
    const [found] = yield* chosen(Option.some(organization), [])
    if (found === undefined) return
    const notes = yield* reader.exportTo(found.id, (entries) => write(entries.map(entryLine)))
    yield* write(notes.map(noteLine))
  }),
).pipe(
  Command.withDescription(
    "Write the event log of an organization to standard output as lines of JSON: each position with the hash and the text of its event, then the signed checkpoints. `keyshelf audit verify --export` verifies it anywhere.",
  ),
  Command.withShortDescription("Write an event log as lines of JSON"),
  Command.withExamples([{ command: "keyshelf audit export --organization acme > acme.ndjson" }]),
  Command.provide(database),
)

const restart = Command.make(
  "restart",
  { organization: organizationFlag },
  Effect.fn(function* ({ organization }) {
    const [found] = yield* chosen(Option.some(organization), [])
    if (found === undefined) return
    const { first, last } = yield* (yield* LogRestart)
      .restart(found.id)
      .pipe(Effect.mapError(({ detail }) => failed(detail)))
    yield* Console.log(`The log before ended with ${last === null ? "no checkpoint." : `this checkpoint:\n\n${last}`}`)
    yield* Console.log(`A new log began. Save its first checkpoint:\n\n${first}`)
  }),
).pipe(
  Command.withDescription(
    "Begin a new event log over the stored events of an organization, after a restored backup or a loss. Checkpoints of the log before no longer verify against it; an event carries the last one. Verify and export the log before.",
  ),
  Command.withShortDescription("Begin a new event log after a restored backup or a loss"),
  Command.withExamples([{ command: "keyshelf audit restart --organization acme" }]),
  Command.provide(database),
)

export const auditCommand = Command.make("audit").pipe(
  Command.withDescription("Verify, export and restart the tamper-evident event log of organizations"),
  Command.withSubcommands([verify, exportCommand, restart]),
)
