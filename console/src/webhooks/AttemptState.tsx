/** What became of an attempt to deliver an event. */
import type { WebhookAttempt } from "../kernel/Contract.ts"
import { formatTime } from "../kernel/Formats.ts"
import { Tag } from "../widgets/Tag.tsx"
import type { Tone } from "../widgets/Tag.tsx"
import { t } from "./texts.en.ts"

const tones: Readonly<Record<WebhookAttempt["state"], Tone>> = {
  Sending: "waiting",
  Success: "ok",
  Failure: "warn",
  Failed: "danger",
}

/** A try that is due begins within this time, unless many wait. */
const OVERDUE_MS = 60_000

/** Whether another attempt of the delivery followed. Attempts keep the time of their next one. */
const isFollowed = (attempt: WebhookAttempt, among: ReadonlyArray<WebhookAttempt>): boolean =>
  attempt.nextAttemptAt === null ||
  Date.parse(attempt.nextAttemptAt) < Date.now() - OVERDUE_MS ||
  among.some(({ attempt: number, deliveryId }) => deliveryId === attempt.deliveryId && number > attempt.attempt)

export const AttemptState = ({
  among = [],
  of: attempt,
}: {
  readonly of: WebhookAttempt
  /** The attempts beside it. */
  readonly among?: ReadonlyArray<WebhookAttempt> | undefined
}) => {
  const { attempt: number, nextAttemptAt, state } = attempt
  if (state === "Failure" && isFollowed(attempt, among)) return <Tag tone="muted">{t.failed}</Tag>
  if (state === "Failure" && nextAttemptAt !== null)
    return <Tag tone="warn">{t.nextTry(formatTime(nextAttemptAt))}</Tag>
  return <Tag tone={tones[state]}>{state === "Failed" ? t.gaveUp(number) : t.states[state]}</Tag>
}
