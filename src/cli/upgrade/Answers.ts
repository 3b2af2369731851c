/** The file of answers: what a version decided on a backup, one JSON document a line. It holds no token and no metadata. */
import { Effect, Schema, Stream } from "effect"
import { closeSync, openSync, renameSync, rmSync, writeSync } from "node:fs"
import { isDeepStrictEqual } from "node:util"
import { reason } from "../../infra/embedded/Errors.ts"
import { CommandFailed } from "../Failure.ts"
import { fileInput, streamLines } from "../input/Input.ts"

/** The first line: what was decided, by which version, and as of when. */
const Heading = Schema.Struct({
  version: Schema.String,
  /** The SHA-256 of the backup. */
  backup: Schema.String,
  at: Schema.DateFromString,
})
type Heading = typeof Heading.Type

/** A check; without `at`, as of the backup's time. */
const Check = Schema.Struct({
  organization: Schema.String,
  instance: Schema.String,
  entitlement: Schema.String,
  requested: Schema.Finite,
  at: Schema.optionalKey(Schema.String),
})

/** The evaluation of a flag, with an empty context. */
const Flag = Schema.Struct({ organization: Schema.String, flag: Schema.String })

const Question = Schema.Union([Check, Flag])
export type Question = typeof Question.Type

/** What a version answered: the properties of its response, or its error. */
export type Answer = Readonly<Record<string, unknown>>

const Line = Schema.Union([
  Schema.Struct({ ...Check.fields, answer: Schema.Record(Schema.String, Schema.Unknown) }),
  Schema.Struct({ ...Flag.fields, answer: Schema.Record(Schema.String, Schema.Unknown) }),
])
export type Line = typeof Line.Type

/** A decision that differs between two versions. */
export type Difference = Question & { readonly before: Answer; readonly after: Answer }

/** Whether two versions decided alike. A newer version may add properties to an answer. */
const isSame = (before: Answer, after: Answer): boolean =>
  Object.entries(before).every(([name, value]) => isDeepStrictEqual(value, after[name]))

/** The difference between a recorded answer and another one; empty if there is none. Pure. */
export const differences = ({ answer: before, ...question }: Line, after: Answer): ReadonlyArray<Difference> =>
  isSame(before, after) ? [] : [{ ...question, before, after }]

const unreadable = (file: string) => (error: unknown) =>
  new CommandFailed({ message: `The answers in ${file} cannot be read: ${reason(error)}.` })

const decoding = <A, I>(file: string, schema: Schema.Codec<A, I>) => {
  const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(schema))
  return (line: string) => Effect.mapError(decode(line), unreadable(file))
}

/** Reads the heading of a file of answers. */
export const readHeading = Effect.fnUntraced(function* (file: string) {
  const first = yield* streamLines(fileInput(file), unreadable(file)).pipe(Stream.take(1), Stream.runCollect)
  return yield* decoding(file, Heading)(first[0] ?? "")
})

/** Reads the answers of a file, without its heading. */
export const readAnswers = (file: string): Stream.Stream<Line, CommandFailed> =>
  streamLines(fileInput(file), unreadable(file)).pipe(
    Stream.drop(1),
    Stream.filter((line) => line !== ""),
    Stream.mapEffect(decoding(file, Line)),
  )

/** Writes answers into a new file, which gets its name once all of them are written. Only its owner may read it. Returns their number. */
export const writeAnswers = <E, R>(file: string, heading: Heading, answers: Stream.Stream<Line, E, R>) => {
  const part = `${file}.part`
  const cannotWrite = (error: unknown) =>
    new CommandFailed({ message: `The file ${file} cannot be written: ${reason(error)}.` })
  const attempt = <A>(run: () => A) => Effect.try({ try: run, catch: cannotWrite })
  return Effect.acquireUseRelease(
    attempt(() => openSync(part, "wx", 0o600)),
    (descriptor) =>
      Effect.gen(function* () {
        const write = (lines: ReadonlyArray<unknown>) =>
          attempt(() => writeSync(descriptor, lines.map((line) => `${JSON.stringify(line)}\n`).join("")))
        yield* write([yield* Effect.orDie(Schema.encodeEffect(Heading)(heading))])
        let count = 0
        yield* answers.pipe(
          Stream.grouped(1000),
          Stream.runForEach((lines) =>
            Effect.andThen(
              write(lines),
              Effect.sync(() => (count += lines.length)),
            ),
          ),
        )
        yield* attempt(() => renameSync(part, file))
        return count
      }),
    (descriptor) =>
      Effect.sync(() => {
        closeSync(descriptor)
        rmSync(part, { force: true })
      }),
  )
}
