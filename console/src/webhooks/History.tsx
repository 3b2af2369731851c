/** Every attempt to deliver an event, and sending it again. */
import { useState } from "react"
import type { Request, WebhookAttempt } from "../kernel/Contract.ts"
import { eventWords, formatDuration } from "../kernel/Formats.ts"
import { defined, useRead, useRows, useWrite } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { useUrl } from "../kernel/Url.ts"
import { announce } from "../kernel/Announcements.ts"
import { Button } from "../widgets/Button.tsx"
import { DataTable } from "../widgets/DataTable.tsx"
import type { Column } from "../widgets/DataTable.tsx"
import { FilterField, FilterSelect } from "../widgets/forms/FilterField.tsx"
import { EmptyList, Failure, ReadOnly } from "../widgets/States.tsx"
import { Moment } from "../widgets/Tag.tsx"
import { t as common } from "../kernel/texts.en.ts"
import { AttemptDialog } from "./AttemptDialog.tsx"
import { AttemptState } from "./AttemptState.tsx"
import { eventOf, stateOf, states } from "./HistoryFilters.ts"
import { RecoverDialog } from "./RecoverDialog.tsx"
import { t } from "./texts.en.ts"

type HistoryQuery = Request<"GET /api/webhooks/history">["query"]

export const History = () => {
  const [{ endpoint = "", event = "", state = "" }] = useUrl()
  const eventFilter = eventOf(event)
  const endpoints = useRead("GET /api/webhooks", { query: { limit: "200" } }).data?.items ?? []
  const query: HistoryQuery = defined({ endpoint, event: eventFilter, state: stateOf(state) })
  const rows = useRows("GET /api/webhooks/history", { query }, { pageSize: "100" })
  const mayWrite = useCan("write:webhooks")
  const [opened, setOpened] = useState<WebhookAttempt>()
  const [isRecovering, setRecovering] = useState(false)
  const [recovered, setRecovered] = useState<number>()
  const retry = useWrite("POST /api/webhooks/history/:deliveryId/retry", {
    stale: ["/api/webhooks"],
    done: () => announce(t.retried),
  })
  const columns: ReadonlyArray<Column<WebhookAttempt>> = [
    { id: "when", title: t.when, width: "190px", cell: ({ timestamp }) => <Moment at={timestamp} /> },
    {
      id: "event",
      title: t.event,
      width: "1.6fr",
      cell: (attempt) => (
        <Button look="quiet" onPress={() => setOpened(attempt)}>
          {eventWords(attempt.eventName)}
        </Button>
      ),
    },
    { id: "endpoint", title: t.endpoint, width: "2fr", cell: ({ endpointUrl }) => endpointUrl },
    {
      id: "state",
      title: common.common.state,
      width: "1.6fr",
      cell: (attempt) => (
        <>
          <AttemptState of={attempt} among={rows.rows} />
          <span className="sub">{attempt.statusCode === null ? attempt.error : null}</span>
        </>
      ),
    },
    { id: "status", title: t.status, width: "70px", isNumber: true, cell: ({ statusCode }) => statusCode },
    { id: "attempt", title: t.attempt, width: "70px", isNumber: true, cell: ({ attempt }) => attempt },
    {
      id: "duration",
      title: t.duration,
      width: "70px",
      isNumber: true,
      cell: ({ durationMs }) => (durationMs === null ? null : formatDuration(durationMs)),
    },
    {
      id: "retry",
      title: t.retry,
      width: "60px",
      isUntitled: true,
      cell: ({ deliveryId, eventName, state: now }) =>
        mayWrite && now === "Failed" ? (
          <Button look="quiet" onPress={() => retry.mutate({ params: { deliveryId } })}>
            <span className="visually-hidden">{t.retryOf(eventWords(eventName))}</span>
            <span aria-hidden>{t.retry}</span>
          </Button>
        ) : null,
    },
  ]
  return (
    <>
      <div className="tab-tools">
        <div className="filters">
          <FilterSelect
            label={t.endpoint}
            name="endpoint"
            choices={endpoints.map(({ id, url }) => ({ id, title: url }))}
          />
          <FilterField label={t.eventFilter} name="event" />
          <FilterSelect
            label={common.common.state}
            name="state"
            choices={states.map((id) => ({ id, title: t.states[id] }))}
          />
        </div>
        {mayWrite && endpoints.length > 0 && <Button onPress={() => setRecovering(true)}>{t.recoverSince}</Button>}
      </div>
      {!mayWrite && <ReadOnly />}
      {event !== "" && eventFilter === undefined && <p className="field-error">{t.unknownEvent}</p>}
      {recovered !== undefined && <p className="read-only">{t.recovered(recovered)}</p>}
      {retry.error !== null && <Failure error={retry.error} />}
      <DataTable
        label={t.history}
        unit="attempt"
        columns={columns}
        rows={rows}
        rowKey={({ id }) => id}
        empty={
          <EmptyList isFiltered={[endpoint, event, state].some((text) => text !== "")} title={t.noHistory}>
            {t.noHistoryDetail}
          </EmptyList>
        }
      />
      {opened !== undefined && (
        <AttemptDialog
          attempts={[opened]}
          onClose={() => setOpened(undefined)}
          onRetry={mayWrite ? (deliveryId) => retry.mutate({ params: { deliveryId } }) : undefined}
        />
      )}
      {isRecovering && (
        <RecoverDialog
          endpoint={endpoint}
          endpoints={endpoints}
          onClose={() => setRecovering(false)}
          onRecovered={(count) => {
            setRecovering(false)
            setRecovered(count)
            announce(t.recovered(count))
          }}
        />
      )}
    </>
  )
}
