/** Every attempt to deliver an event, and sending it again. */
import { useState } from "react"
import type { Request, WebhookAttempt } from "../kernel/Contract.ts"
import { eventNames } from "../kernel/contract/EventNames.ts"
import { parseForBody } from "../kernel/Amount.ts"
import { eventWords, formatDuration } from "../kernel/Formats.ts"
import { defined, useRead, useRows, useWrite } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { useUrl } from "../kernel/Url.ts"
import { announce } from "../kernel/Announcements.ts"
import { Button } from "../widgets/Button.tsx"
import { CopyButton } from "../widgets/Copy.tsx"
import { DataTable } from "../widgets/DataTable.tsx"
import type { Column } from "../widgets/DataTable.tsx"
import { Dialog } from "../widgets/Dialog.tsx"
import { FilterField, FilterSelect } from "../widgets/forms/FilterField.tsx"
import { Facts } from "../widgets/Page.tsx"
import { ListLink } from "../widgets/records/Links.tsx"
import { EmptyList, Failure, ReadOnly } from "../widgets/States.tsx"
import { Code, Moment } from "../widgets/Tag.tsx"
import { t as common } from "../kernel/texts.en.ts"
import { AttemptState } from "./AttemptState.tsx"
import { RecoverDialog } from "./RecoverDialog.tsx"
import { t } from "./texts.en.ts"

type State = WebhookAttempt["state"]

const states: ReadonlyArray<State> = ["Sending", "Success", "Failure", "Failed"]

/** A body that is JSON with a line for each property; any other one as it is. */
const prettyBody = (body: string): string => {
  try {
    return JSON.stringify(parseForBody(body), null, 2)
  } catch {
    return body
  }
}

const AttemptDialog = ({
  attempt,
  onClose,
  onRetry,
}: {
  readonly attempt: WebhookAttempt
  readonly onClose: () => void
  readonly onRetry: (() => void) | undefined
}) => (
  <Dialog title={eventWords(attempt.eventName)} isOpen onClose={onClose} wide>
    <Facts
      items={[
        [t.when, <Moment key="when" at={attempt.timestamp} />],
        [t.endpoint, attempt.endpointUrl],
        [common.common.state, <AttemptState key="state" of={attempt} />],
        [t.status, attempt.statusCode],
        [t.error, attempt.error],
        [t.attempt, attempt.attempt],
        [t.duration, attempt.durationMs === null ? null : formatDuration(attempt.durationMs)],
        [t.nextAttempt, attempt.nextAttemptAt === null ? null : <Moment key="next" at={attempt.nextAttemptAt} />],
        [t.eventId, <Code key="id">{attempt.eventId}</Code>],
      ]}
    />
    {[[t.request, attempt.requestBody] as const, [t.response, attempt.responseBody] as const].map(([title, body]) =>
      body === null || body === "" ? null : (
        <div key={title}>
          <h3>{title}</h3>
          <pre tabIndex={0} role="region" aria-label={title}>
            {prettyBody(body)}
          </pre>
          <CopyButton text={body} />
        </div>
      ),
    )}
    <div className="actions">
      {onRetry !== undefined && <Button onPress={onRetry}>{t.retry}</Button>}
      <ListLink to="/webhooks" search={{ tab: "history", event: attempt.eventId }} className="button">
        {t.seeDelivery}
      </ListLink>
    </div>
  </Dialog>
)

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i

/** The filter that a text stands for: the id of an event, or a name, also written in words. */
const eventOf = (text: string): string | undefined => {
  if (UUID.test(text.trim())) return text.trim().toLowerCase()
  const name = text
    .trim()
    .toUpperCase()
    .replaceAll(/[\s-]+/g, "_")
  return eventNames.find((one) => one === name || eventWords(one).toUpperCase() === text.trim().toUpperCase())
}

type HistoryQuery = Request<"GET /api/webhooks/history">["query"]

export const History = () => {
  const [{ endpoint = "", event = "", state = "" }] = useUrl()
  const chosen = states.find((one) => one === state)
  const eventFilter = eventOf(event)
  const endpoints = useRead("GET /api/webhooks", { query: { limit: "200" } }).data?.items ?? []
  const query: HistoryQuery = defined({ endpoint, event: eventFilter, state: chosen })
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
          attempt={opened}
          onClose={() => setOpened(undefined)}
          onRetry={
            mayWrite && opened.state !== "Sending"
              ? () => {
                  setOpened(undefined)
                  retry.mutate({ params: { deliveryId: opened.deliveryId } })
                }
              : undefined
          }
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
