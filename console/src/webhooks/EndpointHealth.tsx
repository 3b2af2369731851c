/** Whether deliveries to an endpoint arrive. */
import { formatAmount } from "../kernel/Amount.ts"
import type { WebhookEndpoint } from "../kernel/Contract.ts"
import { Moment, Tag } from "../widgets/Tag.tsx"
import { t } from "./texts.en.ts"

interface Props {
  readonly endpoint: WebhookEndpoint
}

const Since = ({ at }: { readonly at: string }) => (
  <span className="sub">
    {t.since.toLowerCase()} <Moment at={at} />
  </span>
)

/** Enabled, failing, paused or disabled, and since when. */
export const EndpointState = ({ endpoint: { disabledAt, disabledReason, failingSince, pausedAt } }: Props) => {
  if (disabledAt !== null)
    return (
      <>
        <Tag tone="danger">{t.disabled}</Tag>
        <span className="sub">{disabledReason}</span>
      </>
    )
  if (pausedAt !== null)
    return (
      <>
        <Tag tone="waiting">{t.paused}</Tag>
        <Since at={pausedAt} />
      </>
    )
  if (failingSince === null) return <Tag tone="ok">{t.enabled}</Tag>
  return (
    <>
      <Tag tone="danger">{t.failing}</Tag>
      <Since at={failingSince} />
    </>
  )
}

/** When a delivery last arrived, as far as the history goes back. */
export const LastSuccess = ({ endpoint: { health } }: Props) => {
  if (health === undefined) return null
  return health.lastSuccessAt === null ? (
    <span className="muted">{t.noSuccess}</span>
  ) : (
    <Moment at={health.lastSuccessAt} relative />
  )
}

/** A number of deliveries, with a plus if there are more than the service counted. */
export const formatCount = ({ count, truncated }: { readonly count: number; readonly truncated: boolean }): string =>
  `${formatAmount(count)}${truncated ? "+" : ""}`

/** How many deliveries wait for an attempt. */
export const Waiting = ({ endpoint: { health } }: Props) => (health === undefined ? null : formatCount(health.waiting))
