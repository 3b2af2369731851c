/** The deliveries of webhooks that the service has given up, and endpoints that it disabled. */
import type { WebhookAttempt } from "../kernel/Contract.ts"
import { words } from "../kernel/Formats.ts"
import { useRows } from "../kernel/Queries.ts"
import { DataTable } from "../widgets/DataTable.tsx"
import type { Column } from "../widgets/DataTable.tsx"
import { Section } from "../widgets/Page.tsx"
import { ListLink } from "../widgets/records/Links.tsx"
import { Moment, Tag } from "../widgets/Tag.tsx"
import { t } from "./texts.en.ts"

const SHOWN = 10

const columns: ReadonlyArray<Column<WebhookAttempt>> = [
  { id: "when", title: t.when, width: "190px", cell: ({ timestamp }) => <Moment at={timestamp} /> },
  {
    id: "event",
    title: t.event,
    width: "1.6fr",
    cell: ({ eventId, eventName }) => (
      <ListLink to="/webhooks" search={{ tab: "history", event: eventId }}>
        {words(eventName)}
      </ListLink>
    ),
  },
  { id: "endpoint", title: t.endpoint, width: "2fr", cell: ({ endpointUrl }) => endpointUrl },
]

export const Failures = () => {
  const failed = useRows("GET /api/webhooks/history", { query: { state: "Failed" } }, { pageSize: String(SHOWN) })
  const endpoints = useRows("GET /api/webhooks", {})
  const disabled = endpoints.rows?.filter(({ disabledAt }) => disabledAt !== null).length ?? 0
  // The newest are enough here: the history has all.
  const newest = { ...failed, rows: failed.rows?.slice(0, SHOWN), loadMore: () => undefined, hasMore: false }
  return (
    <Section
      title={t.failed}
      actions={
        <ListLink to="/webhooks" search={{ tab: "history", state: "Failed" }} className="button">
          {t.history}
        </ListLink>
      }
    >
      {disabled > 0 && (
        <p>
          <Tag tone="danger">{t.disabled(disabled)}</Tag>
        </p>
      )}
      <DataTable
        label={t.failed}
        columns={columns}
        rows={newest}
        rowKey={({ id }) => id}
        empty={<p className="muted">{t.noFailed}</p>}
      />
    </Section>
  )
}
