/** The deliveries of webhooks that the service has given up, and endpoints that it disabled. */
import type { WebhookAttempt, WebhookEndpoint } from "../kernel/Contract.ts"
import { eventWords } from "../kernel/Formats.ts"
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
        {eventWords(eventName)}
      </ListLink>
    ),
  },
  { id: "endpoint", title: t.endpoint, width: "2fr", cell: ({ endpointUrl }) => endpointUrl },
]

/** A receiver that does not take deliveries: since when, and how many events wait for it. */
const Failing = ({
  endpoint: { failingSince, id, url },
  hasMore,
  waiting = [],
}: {
  readonly endpoint: WebhookEndpoint
  readonly waiting: ReadonlyArray<WebhookAttempt> | undefined
  readonly hasMore: boolean
}) => {
  const events = new Set(waiting.filter(({ endpointId }) => endpointId === id).map(({ eventId }) => eventId)).size
  return (
    <p className="notice danger">
      <span>
        <ListLink to="/webhooks" search={{ tab: "history", endpoint: id, state: "Failure" }}>
          {URL.parse(url)?.host ?? url}
        </ListLink>{" "}
        {t.failsSince} {failingSince !== null && <Moment at={failingSince} />}
        {events > 0 && `, ${t.wait(events, hasMore)}`}
      </span>
    </p>
  )
}

export const Failures = () => {
  const failed = useRows("GET /api/webhooks/history", { query: { state: "Failed" } }, { pageSize: String(SHOWN) })
  const endpoints = useRows("GET /api/webhooks", {})
  const waiting = useRows("GET /api/webhooks/history", { query: { state: "Failure" } }, {})
  const failing = endpoints.rows?.filter(({ disabledAt, failingSince }) => disabledAt === null && failingSince !== null)
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
      {failing?.map((endpoint) => (
        <Failing key={endpoint.id} endpoint={endpoint} waiting={waiting.rows} hasMore={waiting.hasMore} />
      ))}
      <DataTable
        label={t.failed}
        columns={columns}
        rows={newest}
        rowKey={({ id }) => id}
        empty={<p className="muted">{failing?.length === 0 ? t.allArrived : t.noFailed}</p>}
      />
    </Section>
  )
}
