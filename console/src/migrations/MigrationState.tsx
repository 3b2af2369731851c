/** The state of a migration: in words, and as a bar with its counts. */
import { formatAmount } from "../kernel/Amount.ts"
import type { Migration } from "../kernel/Contract.ts"
import { Progress } from "../widgets/Meter.tsx"
import { Tag } from "../widgets/Tag.tsx"
import type { Tone } from "../widgets/Tag.tsx"
import { t } from "./texts.en.ts"

const LIVE_MS = 2_000

const tones: Readonly<Record<Migration["state"], Tone>> = {
  SCHEDULED: "waiting",
  RUNNING: "waiting",
  DONE: "ok",
  REVERTING: "waiting",
  REVERTED: "muted",
  CANCELLED: "muted",
}

/** How often a migration is read again: only while instances move, or are about to. */
export const intervalOf = ({ at, state }: Migration): number | false => {
  const isMoving = state === "RUNNING" || state === "REVERTING"
  const isDue = state === "SCHEDULED" && Date.parse(at) <= Date.now() + LIVE_MS
  return isMoving || isDue ? LIVE_MS : false
}

export const StateTag = ({ state }: Pick<Migration, "state">) => <Tag tone={tones[state]}>{t.states[state]}</Tag>

export const MigrationProgress = ({ counts }: Pick<Migration, "counts">) => {
  const { failed, moved, skipped, total } = counts
  const processed = moved + skipped + failed
  return (
    <>
      <Progress label={t.progress} done={processed} total={total} />
      <span className="inline">
        <span className="sub">{t.processed(formatAmount(processed), formatAmount(total))}</span>
        {failed > 0 && <Tag tone="danger">{t.failedCount(formatAmount(failed))}</Tag>}
        {skipped > 0 && <Tag tone="warn">{t.skippedCount(formatAmount(skipped))}</Tag>}
      </span>
    </>
  )
}
