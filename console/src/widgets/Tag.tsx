/** States in words with a symbol: colour never speaks alone. */
import { Ban, Check, CircleAlert, CircleDashed, Clock, TriangleAlert } from "lucide-react"
import type { ReactNode } from "react"
import { formatMoment, formatRelative, formatUtc } from "../kernel/Formats.ts"

export type Tone = "ok" | "warn" | "danger" | "muted" | "neutral" | "waiting"

const icons = { ok: Check, warn: TriangleAlert, danger: CircleAlert, muted: Ban, neutral: CircleDashed, waiting: Clock }

export const Tag = ({ children, tone }: { readonly tone: Tone; readonly children: ReactNode }) => {
  const Icon = icons[tone]
  return (
    <span className={`tag ${tone}`}>
      <Icon aria-hidden size={12} />
      {children}
    </span>
  )
}

/** A moment in local time, with UTC as its title. */
export const Moment = ({ at, relative = false }: { readonly at: string; readonly relative?: boolean }) => (
  <time dateTime={at} title={formatUtc(at)} className="moment">
    {relative ? formatRelative(at) : formatMoment(at)}
  </time>
)

/** A slug or an identifier. */
export const Code = ({ children }: { readonly children: ReactNode }) => <code className="slug">{children}</code>
