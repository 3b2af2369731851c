/**
 * Reads every text that a command gets: files and standard input. All of them are read here, so all accept the same
 * encodings.
 */
import { Effect, Stream } from "effect"
import { createReadStream } from "node:fs"
import { reason } from "../../infra/embedded/Errors.ts"
import { CommandFailed } from "../Failure.ts"
import { makeTextReader } from "./TextDecoding.ts"

/** A source of bytes, and its name in messages. */
export interface Input {
  readonly name: string
  readonly open: () => Source
}

type Source = AsyncIterable<Uint8Array> & { readonly destroy?: () => unknown }

export const fileInput = (file: string): Input => ({ name: file, open: () => createReadStream(file) })

export const standardInput: Input = { name: "standard input", open: () => process.stdin }

/** A file, or standard input for `-`. */
export const inputOf = (file: string): Input => (file === "-" ? standardInput : fileInput(file))

/** The text of an input, in the parts in which it arrives. */
export async function* textOf({ open }: Input): AsyncGenerator<string, undefined> {
  const reader = makeTextReader()
  for await (const bytes of open()) {
    const text = reader.push(bytes)
    if (text !== "") yield text
  }
  const rest = reader.end()
  if (rest !== "") yield rest
}

const LINE_END = /\r\n|\n|\r/

/** The lines of an input, without their ends. Unlike `node:readline`, it keeps U+2028, which JSON may contain. */
export async function* linesOf(input: Input): AsyncGenerator<string, undefined> {
  let rest = ""
  for await (const text of textOf(input)) {
    const lines = (rest + text).split(LINE_END)
    // A carriage return at the end may be half of a line end.
    const isOpen = text.endsWith("\r")
    rest = lines.pop() ?? ""
    if (isOpen) rest = `${lines.pop() ?? ""}\r`
    yield* lines
  }
  if (rest !== "") yield rest.replace(/\r$/, "")
}

/** The error of an input that cannot be read. `what` names its text, such as "The catalogue". */
export const cannotRead =
  (what: string, { name }: Input) =>
  (error: unknown): CommandFailed =>
    new CommandFailed({ message: `${what} cannot be read from ${name}: ${reason(error).replace(/\.$/, "")}.` })

/** Reads a whole text. */
export const readText = (what: string, input: Input): Effect.Effect<string, CommandFailed> =>
  Effect.tryPromise({
    try: async () => {
      const parts: Array<string> = []
      for await (const text of textOf(input)) parts.push(text)
      return parts.join("")
    },
    catch: cannotRead(what, input),
  })

/**
 * The items that are read from an input, one after the other. An interruption closes the input: a generator that waits
 * for it would not end.
 */
export const streamOf = <A, E>(
  input: Input,
  read: (input: Input) => AsyncGenerator<A, undefined>,
  onError: (error: unknown) => E,
): Stream.Stream<A, E> =>
  Stream.suspend(() => {
    const source = input.open()
    const items = read({ name: input.name, open: () => source })
    const closing: AsyncIterable<A, undefined> = {
      [Symbol.asyncIterator]: () => ({
        next: () => items.next(),
        return: async () => {
          source.destroy?.()
          return { done: true, value: undefined }
        },
      }),
    }
    return Stream.fromAsyncIterable(closing, onError)
  })

/** The lines of a text of any length. */
export const streamLines = <E>(input: Input, onError: (error: unknown) => E): Stream.Stream<string, E> =>
  streamOf(input, linesOf, onError)
