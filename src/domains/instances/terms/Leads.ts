/** How long before the end of a license the service announces it. */
import { Context, Duration } from "effect"

/** The lead times of `INSTANCE_TERM_ENDING`. The setting `SERVICE_TERM_NOTICES` replaces them. */
export const CurrentTermLeads = Context.Reference<ReadonlyArray<Duration.Duration>>(
  "keyshelf.reference/instances/TermLeads",
  { defaultValue: () => [30, 7, 1].map(Duration.days) },
)
