/** What a user pipes into a command. */
import { Effect, Stdio, Stream } from "effect"
import { CommandFailed } from "../Failure.ts"

/** Reads standard input to its end. `what` names the text in the error, such as "The token". */
export const readStandardInput = Effect.fnUntraced(function* (what: string) {
  const { stdin } = yield* Stdio.Stdio
  return yield* Stream.mkString(Stream.decodeText(stdin)).pipe(
    Effect.mapError(() => new CommandFailed({ message: `${what} cannot be read from standard input.` })),
  )
})
