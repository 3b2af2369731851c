/** The limits and intervals of streams of changes. */
import { Context } from "effect"

export interface ChangeStreamLimits {
  /** The maximum number of streams of this process. An organization may have half of them. */
  readonly streamsPerProcess: number
  /** How many frames of an organization are sent at once. If there are more, this many follow each second. */
  readonly framesPerSecond: number
  /** How often a stream gets a comment, in seconds. */
  readonly commentSeconds: number
  /** How often the credentials of all streams are verified: not every end of one has an event. */
  readonly verificationMillis: number
  /** A client that has more unread bytes than this is disconnected. */
  readonly maxUnreadBytes: number
}

/** The limits of this process. */
export const ChangeStreamLimits = Context.Reference<ChangeStreamLimits>(
  "keyshelf.reference/events/ChangeStreamLimits",
  {
    defaultValue: () => ({
      streamsPerProcess: 10_000,
      framesPerSecond: 1000,
      commentSeconds: 15,
      verificationMillis: 60_000,
      maxUnreadBytes: 64 * 1024,
    }),
  },
)
