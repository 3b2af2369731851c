/** Creating, editing and deleting a service account. */
import { useState } from "react"
import { call } from "../kernel/Api.ts"
import type { ServiceAccount } from "../kernel/Contract.ts"
import { useRecordForm } from "../kernel/forms/Update.ts"
import { orNull, orUndefined } from "../kernel/Inputs.ts"
import { defined, useWrite } from "../kernel/Queries.ts"
import { t as common } from "../kernel/texts.en.ts"
import { TextField } from "../widgets/forms/Fields.tsx"
import { ConfirmDialog, fieldsOf, FormDialog } from "../widgets/forms/Form.tsx"
import { t } from "./texts.en.ts"

const STALE = { stale: ["/api/service-accounts"] }

export const CreateAccount = ({
  onClose,
  onCreated,
}: {
  readonly onClose: () => void
  readonly onCreated: (slug: string) => void
}) => {
  const [values, setValues] = useState({ name: "", slug: "" })
  const write = useWrite("POST /api/service-accounts", { ...STALE, done: (account) => onCreated(account.slug) })
  const field = fieldsOf(values, setValues, write.error)
  return (
    <FormDialog
      title={t.create}
      submit={common.common.create}
      fields={["name", "slug"]}
      onClose={onClose}
      write={write}
      onSubmit={() => write.mutate({ body: defined({ name: values.name, slug: orUndefined(values.slug) }) })}
    >
      <TextField label={common.common.name} isRequired autoFocus {...field("name")} />
      <TextField label={common.common.slug} hint={common.common.slugHint} isCode {...field("slug")} />
    </FormDialog>
  )
}

export const EditAccount = ({
  account,
  onClose,
}: {
  readonly account: ServiceAccount
  readonly onClose: () => void
}) => {
  const params = { serviceAccountSlug: account.slug }
  const { dialog, error, setValues, values } = useRecordForm("PATCH /api/service-accounts/:serviceAccountSlug", {
    record: account,
    valuesOf: (one) => ({ name: one.name, externalId: one.externalId ?? "" }),
    bodyOf: ({ externalId, name }) => ({ name, externalId: orNull(externalId) }),
    read: () => call("GET /api/service-accounts/:serviceAccountSlug", { params }),
    request: (body) => ({ params, body }),
    ...STALE,
    done: onClose,
  })
  const field = fieldsOf(values, setValues, error)
  return (
    <FormDialog
      title={t.edit(account.name)}
      submit={common.common.save}
      fields={["name", "externalId"]}
      onClose={onClose}
      {...dialog}
    >
      <TextField label={common.common.name} isRequired autoFocus {...field("name")} />
      <TextField label={t.externalId} hint={t.externalIdHint} isCode {...field("externalId")} />
    </FormDialog>
  )
}

export const DeleteAccount = ({
  account,
  onClose,
  onDone,
}: {
  readonly account: ServiceAccount
  readonly onClose: () => void
  readonly onDone: () => void
}) => {
  const write = useWrite("DELETE /api/service-accounts/:serviceAccountSlug", {
    leavesPage: true,
    ...STALE,
    done: onDone,
  })
  return (
    <ConfirmDialog
      title={t.remove(account.name)}
      submit={common.common.remove}
      onClose={onClose}
      write={write}
      onConfirm={() => write.mutate({ params: { serviceAccountSlug: account.slug } })}
    >
      <p>{t.removeText}</p>
    </ConfirmDialog>
  )
}
