/** Where an instance is in its term. */
import type { Instance } from "../kernel/Contract.ts"
import { daysUntil, formatRelative, plusDays } from "../kernel/Formats.ts"
import { Tag } from "../widgets/Tag.tsx"
import { t } from "./texts.en.ts"

const ENDING_DAYS = 30

/**
 * The state of the term in words. `graceEndsAt` is what the service says about this moment; without it the instance's own days of
 * grace decide, if it has any.
 */
export const TermState = ({
  graceEndsAt,
  instance,
  now = Date.now(),
}: {
  readonly instance: Pick<Instance, "startLicenseDate" | "endLicenseDate" | "graceDays">
  readonly graceEndsAt?: string | null | undefined
  readonly now?: number
}) => {
  const { endLicenseDate, graceDays, startLicenseDate } = instance
  if (Date.parse(startLicenseDate) > now) {
    return <Tag tone="waiting">{t.states.notStarted(formatRelative(startLicenseDate, now))}</Tag>
  }
  if (endLicenseDate === null || Date.parse(endLicenseDate) > now) {
    const days = endLicenseDate === null ? Infinity : daysUntil(endLicenseDate, now)
    return days <= ENDING_DAYS ? (
      <Tag tone="warn">{t.states.ending(days)}</Tag>
    ) : (
      <Tag tone="ok">{t.states.running}</Tag>
    )
  }
  const graceEnd = graceEndsAt ?? (graceDays === null ? null : plusDays(endLicenseDate, graceDays))
  return graceEnd !== null && Date.parse(graceEnd) > now ? (
    <Tag tone="warn">{t.states.grace(daysUntil(graceEnd, now))}</Tag>
  ) : (
    <Tag tone="danger">{t.states.ended}</Tag>
  )
}
