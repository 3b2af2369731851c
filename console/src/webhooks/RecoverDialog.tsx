/** Sends everything again that did not arrive since a moment, as after an outage of the receiver. */
import { useState } from "react"
import type { WebhookEndpoint } from "../kernel/Contract.ts"
import { HOUR_MS } from "../kernel/Formats.ts"
import { isMoment, minuteOf } from "../kernel/forms/Moments.ts"
import { orUndefined } from "../kernel/Inputs.ts"
import { defined, useQuiet, useRead, useWrite } from "../kernel/Queries.ts"
import { t as common } from "../kernel/texts.en.ts"
import { SelectField } from "../widgets/forms/Fields.tsx"
import { errorAt, FormDialog } from "../widgets/forms/Form.tsx"
import { MomentField } from "../widgets/forms/MomentField.tsx"
import { formatCount } from "./EndpointHealth.tsx"
import { t } from "./texts.en.ts"

const anHourAgo = () => minuteOf(Date.now() - HOUR_MS)

/** How many deliveries the press of the button sends again. */
const Recoverable = ({
  endpoint,
  since,
  until,
}: {
  readonly endpoint: WebhookEndpoint
  readonly since: string
  readonly until: string
}) => {
  const isTime = isMoment(since) && (until === "" || isMoment(until)) && (until === "" || since < until)
  const query = defined({ since, until: orUndefined(until) })
  const { data, isPlaceholderData } = useRead(
    "GET /api/webhooks/:id/recoverable",
    { params: { id: endpoint.id }, query },
    { when: isTime },
  )
  if (!isTime) return null
  return (
    <p role="status" className="read-only">
      {data === undefined || isPlaceholderData
        ? t.counting
        : data.count === 0
          ? t.nothingToRecover
          : t.recoverable(formatCount(data), data.count === 1)}
      {endpoint.pausedAt !== null && ` ${t.recoverPaused}`}
    </p>
  )
}

export const RecoverDialog = ({
  endpoint,
  endpoints,
  onClose,
  onRecovered,
}: {
  /** The endpoint that the list is filtered by; empty for none. */
  readonly endpoint: string
  readonly endpoints: ReadonlyArray<WebhookEndpoint>
  readonly onClose: () => void
  readonly onRecovered: (count: number) => void
}) => {
  // Without a filter, the endpoint that missed something.
  const [first = endpoints[0]] = endpoints.filter(({ failingSince }) => failingSince !== null)
  const [id, setId] = useState(endpoint === "" ? (first?.id ?? "") : endpoint)
  const [since, setSince] = useState(anHourAgo)
  const [until, setUntil] = useState("")
  const quiet = { since: useQuiet(since), until: useQuiet(until) }
  const chosen = endpoints.find((one) => one.id === id)
  const write = useWrite("POST /api/webhooks/:id/recover", {
    stale: ["/api/webhooks"],
    done: ({ count }) => onRecovered(count),
  })
  return (
    <FormDialog
      title={t.recover}
      submit={t.recoverSubmit}
      fields={["since", "until"]}
      onClose={onClose}
      write={write}
      isDisabled={id === ""}
      onSubmit={() =>
        write.mutate({
          params: { id },
          body: defined({ since, until: orUndefined(until) }),
        })
      }
    >
      <p>{t.recoverText}</p>
      <SelectField
        label={t.endpoint}
        value={id}
        onChange={setId}
        choices={endpoints.map(({ id: one, url }) => ({ id: one, title: url }))}
      />
      <div className="form-row">
        <MomentField
          label={t.since}
          hint={common.common.utcHint}
          isRequired
          value={since}
          onChange={setSince}
          error={errorAt(write.error, "since")}
        />
        <MomentField
          label={t.until}
          hint={t.untilHint}
          value={until}
          onChange={setUntil}
          error={errorAt(write.error, "until")}
        />
      </div>
      {chosen !== undefined && <Recoverable key={chosen.id} endpoint={chosen} {...quiet} />}
    </FormDialog>
  )
}
