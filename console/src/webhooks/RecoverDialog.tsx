/** Sends everything again that did not arrive since a moment, as after an outage of the receiver. */
import { useState } from "react"
import type { WebhookEndpoint } from "../kernel/Contract.ts"
import { HOUR_MS } from "../kernel/Formats.ts"
import { minuteOf } from "../kernel/forms/Moments.ts"
import { orUndefined } from "../kernel/Inputs.ts"
import { defined, useWrite } from "../kernel/Queries.ts"
import { t as common } from "../kernel/texts.en.ts"
import { SelectField } from "../widgets/forms/Fields.tsx"
import { errorAt, FormDialog } from "../widgets/forms/Form.tsx"
import { MomentField } from "../widgets/forms/MomentField.tsx"
import { t } from "./texts.en.ts"

const anHourAgo = () => minuteOf(Date.now() - HOUR_MS)

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
    </FormDialog>
  )
}
