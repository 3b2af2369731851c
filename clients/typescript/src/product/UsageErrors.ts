/** What a buffer of usage fails with, and what a flush did. */
import { isServiceAway } from "../Errors.ts"

/** The buffer holds as many events as it may. The report was not accepted. */
export class BufferFull extends Error {
  override readonly name = "BufferFull"
}

/** An event of the buffer (CloudEvents 1.0). */
export interface UsageEvent {
  readonly specversion: "1.0"
  readonly id: string
  readonly source: string
  readonly subject: string
  readonly type: string
  readonly time: string
  readonly data: { readonly value: string; readonly uniqueKey?: string }
}

/** An event that the service does not count, such as usage above the limit. It has left the buffer. */
export interface RejectedEvent {
  readonly event: UsageEvent
  readonly code: string
  readonly message: string
}

/** What a flush did. */
export interface FlushResult {
  readonly accepted: number
  /** Events that had been counted already: the response of an earlier flush was lost. */
  readonly duplicates: number
  readonly rejected: ReadonlyArray<RejectedEvent>
}

/** A flush ended early. What it had done is in `result`; other events are still in the buffer. `cause` says why. */
export class FlushFailed extends Error {
  override readonly name = "FlushFailed"
  readonly result: FlushResult
  readonly isAway: boolean
  constructor(result: FlushResult, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause })
    this.result = result
    this.isAway = isServiceAway(cause)
  }
}
