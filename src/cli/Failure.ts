/** How a command of the operator ends when it cannot do what it was asked. */
import { Schema } from "effect"

/** The command failed. The message says why in one sentence, and what to do. */
export class CommandFailed extends Schema.TaggedError<CommandFailed>()("CommandFailed", { message: Schema.String }) {}
