/** Sends everything again that did not arrive since a moment, as after an outage of the receiver. */
import { useState } from "react"
import type { WebhookEndpoint } from "../kernel/Contract.ts"
import { HOUR_MS, inputOfMoment, momentOfInput } from "../kernel/Formats.ts"
import { defined, useWrite } from "../kernel/Queries.ts"
import { t as common } from "../kernel/texts.en.ts"
import { SelectField, TextField } from "../widgets/forms/Fields.tsx"
import { errorAt, FormDialog } from "../widgets/forms/Form.tsx"
import { t } from "./texts.en.ts"

const anHourAgo = () => new Date(Date.now() - HOUR_MS).toISOString()

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
  const [id, setId] = useState(endpoint === "" ? (endpoints[0]?.id ?? "") : endpoint)
  const [since, setSince] = useState(() => inputOfMoment(anHourAgo()))
  const [until, setUntil] = useState("")
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
          body: defined({ since: momentOfInput(since) ?? "", until: momentOfInput(until) }),
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
        <TextField
          kind="datetime-local"
          label={t.since}
          hint={common.common.utcHint}
          isRequired
          value={since}
          onChange={setSince}
          error={errorAt(write.error, "since")}
        />
        <TextField
          kind="datetime-local"
          label={t.until}
          hint={t.untilHint}
          value={until}
          onChange={setUntil}
          error={errorAt(write.error, "until")}
        />
      </div>
    </FormDialog>
  )
}
