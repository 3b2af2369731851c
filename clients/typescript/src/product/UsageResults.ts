/** What a response says about the events of a batch. An event leaves the buffer only by this. */
import { own } from "../../../../src/offline/values/Unknown.ts"
import { ProblemError } from "../Errors.ts"
import { isForeign } from "../Responses.ts"
import type { RejectedEvent, UsageEvent } from "./UsageErrors.ts"

/** Rejections of a batch for its body. */
const OF_THE_BODY: ReadonlyArray<number> = [400, 413, 422]

/** The results in a response, in the order of the events. Results of other events say nothing about any of these. */
export const verdictsIn =
  (count: number) =>
  (text: string): ReadonlyArray<unknown> | undefined => {
    const results = own(JSON.parse(text), "results")
    const isOfThese = Array.isArray(results) && results.length <= count
    return isOfThese && results.every((one, place) => (own(one, "index") ?? place) === place) ? results : undefined
  }

/**
 * Whether the service rejected a batch for what one of its events is. Other problems, such as a revoked token or a header that a
 * proxy added, are none of the events: these stay in the buffer.
 */
export const isOfAnEvent = (error: unknown): error is ProblemError =>
  error instanceof ProblemError &&
  !isForeign(error.code) &&
  OF_THE_BODY.includes(error.status) &&
  (error.errors.length === 0 || error.errors.some(({ location }) => /^body\b/.test(location)))

const textIn = (verdict: unknown, name: string): string => {
  const value = own(verdict, name)
  return typeof value === "string" ? value : ""
}

export interface Counts {
  accepted: number
  duplicates: number
  readonly rejected: Array<RejectedEvent>
}

/** Counts a result. Returns whether its event has one: later versions may postpone an event. */
export const count = (counts: Counts, verdict: unknown, event: UsageEvent): boolean => {
  const [status, code] = [textIn(verdict, "status"), textIn(verdict, "code")]
  if (status === "accepted") counts.accepted++
  else if (status === "duplicate") counts.duplicates++
  else if (status === "rejected" && code !== "") {
    counts.rejected.push({ event, code, message: textIn(verdict, "message") })
  } else return false
  return true
}
