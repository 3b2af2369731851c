/** The error of a command that cannot complete. */
import { Schema } from "effect"

/** The command failed. The message states why, and what to do. */
export class CommandFailed extends Schema.TaggedError<CommandFailed>()("CommandFailed", { message: Schema.String }) {}
