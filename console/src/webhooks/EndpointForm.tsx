/** Creates or changes an endpoint. */
import { useState } from "react"
import { call } from "../kernel/Api.ts"
import type { Body, WebhookEndpoint } from "../kernel/Contract.ts"
import { useRecordForm } from "../kernel/forms/Update.ts"
import { proseOrNull } from "../kernel/Inputs.ts"
import { useWrite } from "../kernel/Queries.ts"
import { t as common } from "../kernel/texts.en.ts"
import { TextField } from "../widgets/forms/Fields.tsx"
import { errorAt, fieldsOf, FormDialog } from "../widgets/forms/Form.tsx"
import { EventNamesField } from "./EventNamesField.tsx"
import { t } from "./texts.en.ts"

const STALE = { stale: ["/api/webhooks"] }
const FIELDS = ["url", "eventNames", "description"]

type Subscription = Body<"POST /api/webhooks">["eventNames"][number]

interface Values {
  readonly url: string
  readonly eventNames: ReadonlyArray<string>
  readonly description: string
}

const NEW: Values = { url: "https://", eventNames: ["*"], description: "" }

const valuesOf = ({ description, eventNames, url }: WebhookEndpoint): Values => ({
  url,
  eventNames,
  description: description ?? "",
})

const bodyOf = ({ description, eventNames, url }: Values) => ({
  url,
  // A name of a later version stays as it is.
  eventNames: eventNames as ReadonlyArray<Subscription>,
  description: proseOrNull(description),
})

const Fields = ({
  error,
  onChange,
  values,
}: {
  readonly values: Values
  readonly onChange: (values: Values) => void
  readonly error: unknown
}) => {
  const field = fieldsOf(values, onChange, error)
  return (
    <>
      <TextField kind="url" label={t.url} isRequired autoFocus {...field("url")} />
      <EventNamesField
        names={values.eventNames}
        onChange={(eventNames) => onChange({ ...values, eventNames })}
        error={errorAt(error, "eventNames")}
      />
      <TextField label={common.common.description} {...field("description")} />
    </>
  )
}

export const CreateEndpoint = ({
  onClose,
  onSecret,
}: {
  readonly onClose: () => void
  readonly onSecret: (secret: string) => void
}) => {
  const [values, setValues] = useState(NEW)
  const write = useWrite("POST /api/webhooks", { ...STALE, done: ({ secret }) => onSecret(secret) })
  return (
    <FormDialog
      title={t.create}
      submit={common.common.create}
      fields={FIELDS}
      onClose={onClose}
      write={write}
      onSubmit={() => write.mutate({ body: bodyOf(values) })}
    >
      <Fields values={values} onChange={setValues} error={write.error} />
    </FormDialog>
  )
}

export const EditEndpoint = ({
  endpoint,
  onClose,
}: {
  readonly endpoint: WebhookEndpoint
  readonly onClose: () => void
}) => {
  const params = { id: endpoint.id }
  const { dialog, error, setValues, values } = useRecordForm("PUT /api/webhooks/:id", {
    ...STALE,
    record: endpoint,
    valuesOf,
    bodyOf,
    read: () => call("GET /api/webhooks/:id", { params }),
    request: (body: Body<"PUT /api/webhooks/:id">) => ({ params, body }),
    done: onClose,
  })
  return (
    <FormDialog title={t.edit} submit={common.common.save} fields={FIELDS} onClose={onClose} {...dialog}>
      <Fields values={values} onChange={setValues} error={error} />
    </FormDialog>
  )
}
