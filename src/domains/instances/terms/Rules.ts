/** Which events the end of an instance's license causes, and when. Pure. */
import { Array as Arr, Duration, Order } from "effect"
import { DAY_MS, nearestWritable } from "../../../kernel/values/Timestamp.ts"

/** Announces that a license ends, or says that it or its grace period has ended. */
export interface Notice {
  readonly event: "INSTANCE_TERM_ENDING" | "INSTANCE_TERM_ENDED" | "INSTANCE_GRACE_ENDED"
  /** Distinguishes the notices of one end date. Stored with each that was emitted. */
  readonly key: string
  readonly dueAt: Date
}

/** The end of an instance's license. */
interface EndOfTerm {
  readonly endLicenseDate: Date
  /** Days of access after the end: those of the instance, otherwise those of its license version. */
  readonly graceDays: number
  /** When this end was set. */
  readonly setAt: Date
}

const later = (instant: Date, millis: number) => nearestWritable(instant.getTime() + millis)

const byTime = Order.mapInput(Order.Date, (notice: Notice) => notice.dueAt)

/**
 * All notices of an end, earliest first. Each lead time has one, late ones included; an end that had passed when it was set is not
 * announced. Without grace days no grace period ends.
 */
export const noticesOf = (
  { endLicenseDate, graceDays, setAt }: EndOfTerm,
  leads: ReadonlyArray<Duration.Duration>,
): ReadonlyArray<Notice> => {
  const announcements = leads.map((lead): Notice => {
    const millis = Duration.toMillis(lead)
    return { event: "INSTANCE_TERM_ENDING", key: `ENDING ${millis}`, dueAt: later(endLicenseDate, -millis) }
  })
  const ended: Notice = { event: "INSTANCE_TERM_ENDED", key: "ENDED", dueAt: endLicenseDate }
  const graceEnded: Notice = {
    event: "INSTANCE_GRACE_ENDED",
    key: "GRACE_ENDED",
    dueAt: later(endLicenseDate, graceDays * DAY_MS),
  }
  return [
    ...(setAt < endLicenseDate ? Arr.sort(announcements, byTime) : []),
    ended,
    ...(graceDays > 0 ? [graceEnded] : []),
  ]
}

/** What is due now, and when the next notice is. */
interface Plan {
  readonly due: ReadonlyArray<Notice>
  readonly next: Date | null
}

/** Divides the notices that were not emitted yet. */
export const planOf = (notices: ReadonlyArray<Notice>, emitted: ReadonlySet<string>, at: Date): Plan => {
  const open = notices.filter(({ key }) => !emitted.has(key))
  const due = open.filter(({ dueAt }) => dueAt <= at)
  const future = open.filter(({ dueAt }) => dueAt > at)
  return { due, next: future[0]?.dueAt ?? null }
}

/** Days until an end, rounded up, at least 0. */
export const daysLeft = (end: Date, at: Date): number => Math.max(0, Math.ceil((end.getTime() - at.getTime()) / DAY_MS))
