/** Bars: how much of a limit is used, and how far something is. The numbers beside them say the same. */
import { approximate } from "../kernel/Amount.ts"
import type { Amount } from "../kernel/Amount.ts"

const share = (part: number, whole: number) => (whole <= 0 ? 0 : Math.min(100, Math.max(0, (part / whole) * 100)))

/** How much of a limit is used. The soft part is beyond the limit. */
export const Meter = ({
  cap,
  label,
  limit,
  used,
  warnAt = 80,
}: {
  readonly label: string
  readonly used: Amount
  readonly limit: Amount
  /** The highest usage that is allowed beyond the limit. */
  readonly cap?: Amount | undefined
  readonly warnAt?: number
}) => {
  const [usage, granted] = [approximate(used), approximate(limit)]
  const whole = Math.max(granted, cap === undefined ? granted : approximate(cap))
  // Up to the cap, usage beyond the limit is allowed.
  const tone = usage >= whole ? "over" : share(usage, granted) >= warnAt ? "near" : ""
  return (
    <span
      className={`meter ${tone}`}
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={whole}
      aria-valuenow={Math.min(usage, whole)}
    >
      <span className="meter-fill" style={{ inlineSize: `${share(usage, whole)}%` }} />
      {whole > granted && <span className="meter-limit" style={{ insetInlineStart: `${share(granted, whole)}%` }} />}
    </span>
  )
}

/** How much of something is done. */
export const Progress = ({
  done,
  label,
  total,
}: {
  readonly label: string
  readonly done: number
  readonly total: number
}) => (
  <span
    className="meter"
    role="progressbar"
    aria-label={label}
    aria-valuemin={0}
    aria-valuemax={total}
    aria-valuenow={Math.min(done, total)}
  >
    <span className="meter-fill" style={{ inlineSize: `${share(done, total)}%` }} />
  </span>
)
