/** Why an organization cannot be moved. */
import { Schema } from "effect"

/** The export, import or comparison was rejected. The message says why, and what to do. Nothing was changed. */
export class MoveRefused extends Schema.TaggedError<MoveRefused>()("MoveRefused", { message: Schema.String }) {}
