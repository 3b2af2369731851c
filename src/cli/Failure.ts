/** The error of a command that cannot complete. */
import { Schema } from "effect"
import { isSqlError } from "effect/sql/SqlError"

/** The command failed. The message states why, and what to do. */
export class CommandFailed extends Schema.TaggedError<CommandFailed>()("CommandFailed", { message: Schema.String }) {}

/** The most useful message of an error of the database: the driver wraps the server's error twice. */
export const innermost = (cause: unknown): string => {
  if (isSqlError(cause)) return innermost(cause.reason.cause)
  if (cause instanceof Error) return cause.cause instanceof Error ? innermost(cause.cause) : cause.message
  return String(cause)
}
