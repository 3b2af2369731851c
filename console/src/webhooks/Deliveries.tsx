/** The deliveries to one endpoint: a row for each event, with all its attempts. */
import { useState } from "react"
import type { WebhookAttempt } from "../kernel/Contract.ts"
import { announce } from "../kernel/Announcements.ts"
import { eventWords, formatDuration } from "../kernel/Formats.ts"
import { defined, useRows, useWrite } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { t as common } from "../kernel/texts.en.ts"
import { useUrl } from "../kernel/Url.ts"
import { Button } from "../widgets/Button.tsx"
import { DataTable } from "../widgets/DataTable.tsx"
import type { Column } from "../widgets/DataTable.tsx"
import { FilterField, FilterSelect } from "../widgets/forms/FilterField.tsx"
import { EmptyList, Failure } from "../widgets/States.tsx"
import { Moment } from "../widgets/Tag.tsx"
import { AttemptDialog } from "./AttemptDialog.tsx"
import { AttemptState } from "./AttemptState.tsx"
import { eventOf, stateOf, states } from "./HistoryFilters.ts"
import { t } from "./texts.en.ts"

/** A delivery: its attempts, newest first. There is at least one. */
interface Delivery {
  readonly newest: WebhookAttempt
  readonly attempts: ReadonlyArray<WebhookAttempt>
}

const deliveriesOf = (attempts: ReadonlyArray<WebhookAttempt>): ReadonlyArray<Delivery> =>
  [...Map.groupBy(attempts, ({ deliveryId }) => deliveryId).values()].flatMap(([newest, ...others]) =>
    newest === undefined ? [] : [{ newest, attempts: [newest, ...others] }],
  )

export const Deliveries = ({ endpointId }: { readonly endpointId: string }) => {
  const [{ event = "", state = "" }] = useUrl()
  const eventFilter = eventOf(event)
  const query = defined({ endpoint: endpointId, event: eventFilter, state: stateOf(state) })
  const attempts = useRows("GET /api/webhooks/history", { query }, { pageSize: "100" })
  const rows = { ...attempts, rows: attempts.rows === undefined ? undefined : deliveriesOf(attempts.rows) }
  const mayWrite = useCan("write:webhooks")
  const [opened, setOpened] = useState<string>()
  const retry = useWrite("POST /api/webhooks/history/:deliveryId/retry", {
    stale: ["/api/webhooks"],
    done: () => announce(t.retried),
  })
  const columns: ReadonlyArray<Column<Delivery>> = [
    { id: "when", title: t.lastAttempt, width: "190px", cell: ({ newest }) => <Moment at={newest.timestamp} /> },
    {
      id: "event",
      title: t.event,
      width: "2fr",
      cell: ({ newest }) => (
        <Button look="quiet" onPress={() => setOpened(newest.deliveryId)}>
          {eventWords(newest.eventName)}
        </Button>
      ),
    },
    {
      id: "state",
      title: common.common.state,
      width: "2fr",
      cell: ({ attempts: all, newest }) => (
        <>
          <AttemptState of={newest} among={all} />
          <span className="sub">{newest.statusCode === null ? newest.error : null}</span>
        </>
      ),
    },
    {
      id: "status",
      title: t.status,
      width: "70px",
      isNumber: true,
      cell: ({ newest: { statusCode } }) => statusCode,
    },
    { id: "attempts", title: t.attempts, width: "80px", isNumber: true, cell: ({ newest }) => newest.attempt },
    {
      id: "duration",
      title: t.duration,
      width: "70px",
      isNumber: true,
      cell: ({ newest: { durationMs } }) => (durationMs === null ? null : formatDuration(durationMs)),
    },
    {
      id: "retry",
      title: t.retry,
      width: "60px",
      isUntitled: true,
      cell: ({ newest: { deliveryId, eventName, state: now } }) =>
        mayWrite && (now === "Failed" || now === "Failure") ? (
          <Button look="quiet" onPress={() => retry.mutate({ params: { deliveryId } })}>
            <span className="visually-hidden">{t.retryOf(eventWords(eventName))}</span>
            <span aria-hidden>{t.retry}</span>
          </Button>
        ) : null,
    },
  ]
  const shown = rows.rows?.find(({ newest }) => newest.deliveryId === opened)
  return (
    <>
      <div className="filters">
        <FilterField label={t.eventFilter} name="event" />
        <FilterSelect
          label={common.common.state}
          name="state"
          choices={states.map((id) => ({ id, title: t.states[id] }))}
        />
      </div>
      {event !== "" && eventFilter === undefined && <p className="field-error">{t.unknownEvent}</p>}
      {retry.error !== null && <Failure error={retry.error} />}
      <DataTable
        label={t.deliveries}
        unit="delivery"
        columns={columns}
        rows={rows}
        rowKey={({ newest }) => newest.deliveryId}
        empty={
          <EmptyList isFiltered={event !== "" || state !== ""} title={t.noHistory}>
            {t.noHistoryDetail}
          </EmptyList>
        }
      />
      {shown !== undefined && (
        <AttemptDialog
          attempts={shown.attempts}
          isOfOneEndpoint
          onClose={() => setOpened(undefined)}
          onRetry={mayWrite ? (deliveryId) => retry.mutate({ params: { deliveryId } }) : undefined}
        />
      )}
    </>
  )
}
