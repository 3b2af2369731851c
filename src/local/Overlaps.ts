/** Refills bring snapshots, too. What a fetch brings that overlaps one may be older, or show lines that are not settled here. */
import type { Clock, Reply } from "./Ports.ts"

/** A refill that takes longer is not waited for: a change must decide within a second. */
const REFILL_WAIT_MS = 200

/** A refill whose snapshot was taken, by the monotonic clock. */
export interface TakenRefill {
  readonly sentAt: number
  readonly takenAt: number
}

export const NO_REFILL: TakenRefill = { sentAt: -Infinity, takenAt: -Infinity }

/** Waits for a refill in flight, but not for long. */
export const afterRefill = async ({ after }: Clock, refill: Promise<void> | undefined): Promise<void> => {
  if (refill === undefined) return
  await new Promise<void>((resolve) => {
    const cancel = after(REFILL_WAIT_MS, resolve)
    void refill.finally(() => {
      cancel()
      resolve()
    })
  })
}

/**
 * What a response is beside the last refill. One that was sent after this request has brought a newer snapshot. If one was in flight
 * before, it is not known which snapshot is newer, so the request is repeated once.
 */
export const besideRefill = (
  reply: Reply,
  sentAt: number,
  refill: TakenRefill,
  isRepeated: boolean,
): Reply | "repeat" => {
  if (reply.type !== "snapshot" || refill.takenAt < sentAt) return reply
  if (refill.sentAt >= sentAt) return { ...reply, type: "unchanged" }
  return isRepeated ? reply : "repeat"
}
