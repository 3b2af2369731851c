/** How long the installation retains rows after their end. */
import { Context, Duration, Option } from "effect"

/** Without `events` or `usageEvents`, these are retained forever. */
export interface RetentionPeriods {
  readonly retiredTokens: Duration.Duration
  readonly events: Option.Option<Duration.Duration>
  readonly usageEvents: Option.Option<Duration.Duration>
}

/** The retention periods of the installation. */
export const CurrentRetentionPeriods = Context.Reference<RetentionPeriods>(
  "keyshelf.reference/kernel/RetentionPeriods",
  { defaultValue: () => ({ retiredTokens: Duration.days(90), events: Option.none(), usageEvents: Option.none() }) },
)

/** The latest end of rows that are no longer retained. */
export const endedBefore = (at: Date, retained: Duration.Duration): Date =>
  new Date(at.getTime() - Duration.toMillis(retained))
