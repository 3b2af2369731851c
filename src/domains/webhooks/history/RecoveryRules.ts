/** What a recovery reads. Pure. */
import type { Effect } from "effect"
import type { Position } from "../../../kernel/contract/Page.ts"
import { failWithErrors } from "../../../kernel/contract/Problem.ts"
import type { ValidationFailed } from "../../../kernel/contract/Problem.ts"
import type { RecoverDeliveries } from "../Model.ts"

/** A time range: from `since` on, before `until`. */
export interface TimeRange {
  readonly since: Date
  readonly until: Date
}

/** Deliveries per transaction: one piece takes some tenths of a second. */
export const MAX_PIECE = 1000

/** Before the first piece. */
export const FIRST: Position = ["-infinity", "00000000-0000-0000-0000-000000000000"]

/** The time range of a recovery that is requested now. */
export const rangeOf = ({ since, until }: RecoverDeliveries, at: Date): TimeRange => ({ since, until: until ?? at })

/** Rejects a time range that contains no time. `location` is that of its start. */
export const requireTime = (
  { since, until }: TimeRange,
  location: "body.since" | "query.since",
): Effect.Effect<void, ValidationFailed> =>
  failWithErrors(since < until ? [] : [{ location, message: "must be before `until`, and in the past" }])
