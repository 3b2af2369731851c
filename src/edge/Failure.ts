/** The error of an edge that cannot start. */
import { Schema } from "effect"

/** The edge cannot start. The message says why, and what to do. */
export class EdgeFailed extends Schema.TaggedError<EdgeFailed>()("EdgeFailed", { message: Schema.String }) {}
