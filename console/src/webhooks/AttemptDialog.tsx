/** An attempt of a delivery with its request and response, and the attempts beside it. */
import { useState } from "react"
import type { WebhookAttempt } from "../kernel/Contract.ts"
import { parseForBody } from "../kernel/Amount.ts"
import { eventWords, formatDuration, formatMoment } from "../kernel/Formats.ts"
import { t as common } from "../kernel/texts.en.ts"
import { Button } from "../widgets/Button.tsx"
import { Copy, CopyButton } from "../widgets/Copy.tsx"
import { Dialog } from "../widgets/Dialog.tsx"
import { Facts } from "../widgets/Page.tsx"
import { ListLink } from "../widgets/records/Links.tsx"
import { Code, Moment } from "../widgets/Tag.tsx"
import { AttemptState } from "./AttemptState.tsx"
import { t } from "./texts.en.ts"

/** A body that is JSON with a line for each property; any other one as it is. */
const prettyBody = (body: string): string => {
  try {
    return JSON.stringify(parseForBody(body), null, 2)
  } catch {
    return body
  }
}

/** What is sent with each attempt of a delivery. The time and the signature are of the moment of sending, and not stored. */
const headersOf = ({ eventId }: WebhookAttempt): string =>
  ["content-type: application/json", `webhook-id: ${eventId}`].join("\n")

const Text = ({ text, title }: { readonly title: string; readonly text: string }) => (
  <div>
    <h3>{title}</h3>
    <pre tabIndex={0} role="region" aria-label={title}>
      {text}
    </pre>
    <CopyButton text={text} />
  </div>
)

export const AttemptDialog = ({
  attempts,
  isOfOneEndpoint = false,
  onClose,
  onRetry,
}: {
  /** Attempts of one delivery, newest first. */
  readonly attempts: ReadonlyArray<WebhookAttempt>
  /** The attempts are all of this event, so nothing leads to others. */
  readonly isOfOneEndpoint?: boolean
  readonly onClose: () => void
  readonly onRetry: ((deliveryId: string) => void) | undefined
}) => {
  const [newest] = attempts
  const [shownId, setShown] = useState(newest?.id)
  const attempt = attempts.find(({ id }) => id === shownId) ?? newest
  if (attempt === undefined || newest === undefined) return null
  const { requestBody, responseBody } = attempt
  return (
    <Dialog title={eventWords(attempt.eventName)} isOpen onClose={onClose} wide>
      {attempts.length > 1 && (
        <div className="actions" role="group" aria-label={t.attempts}>
          {attempts.map(({ attempt: number, id, timestamp }) => (
            <Button key={id} look={id === attempt.id ? "primary" : "normal"} onPress={() => setShown(id)}>
              {t.attemptAt(number, formatMoment(timestamp))}
            </Button>
          ))}
        </div>
      )}
      <Facts
        items={[
          [t.when, <Moment key="when" at={attempt.timestamp} />],
          [t.endpoint, attempt.endpointUrl],
          [common.common.state, <AttemptState key="state" of={attempt} among={attempts} />],
          [t.status, attempt.statusCode],
          [t.error, attempt.error],
          [t.attempt, attempt.attempt],
          [t.duration, attempt.durationMs === null ? null : formatDuration(attempt.durationMs)],
          [t.nextAttempt, attempt.nextAttemptAt === null ? null : <Moment key="next" at={attempt.nextAttemptAt} />],
          [
            t.eventId,
            <span key="id">
              <Code>{attempt.eventId}</Code> <Copy text={attempt.eventId} label={t.copyEventId} />
            </span>,
          ],
        ]}
      />
      <Text title={t.headers} text={headersOf(attempt)} />
      {requestBody !== null && requestBody !== "" && <Text title={t.request} text={prettyBody(requestBody)} />}
      {responseBody !== null && responseBody !== "" && <Text title={t.response} text={prettyBody(responseBody)} />}
      <div className="actions">
        {onRetry !== undefined && newest.state !== "Sending" && (
          <Button
            onPress={() => {
              onClose()
              onRetry(attempt.deliveryId)
            }}
          >
            {t.retry}
          </Button>
        )}
        {!isOfOneEndpoint && (
          <ListLink to="/webhooks" search={{ tab: "history", event: attempt.eventId }} className="button">
            {t.seeDelivery}
          </ListLink>
        )}
      </div>
    </Dialog>
  )
}
