/** Creating, changing and removing an organization. */
import { useState } from "react"
import { call } from "../kernel/Api.ts"
import type { Organization } from "../kernel/Contract.ts"
import { useRecordForm } from "../kernel/forms/Update.ts"
import { orNull, orUndefined } from "../kernel/Inputs.ts"
import { defined, useWrite } from "../kernel/Queries.ts"
import { t as common } from "../kernel/texts.en.ts"
import { TextField } from "../widgets/forms/Fields.tsx"
import { fieldsOf, FormDialog } from "../widgets/forms/Form.tsx"
import { t } from "./texts.en.ts"

const STALE = { stale: ["/api/platform/organizations"] }
const FIELDS = ["name", "slug", "externalId"] as const

export const CreateOrganization = ({
  onClose,
  onCreated,
}: {
  readonly onClose: () => void
  readonly onCreated: (id: string) => void
}) => {
  const [values, setValues] = useState({ name: "", slug: "", externalId: "" })
  const write = useWrite("POST /api/platform/organizations", { ...STALE, done: ({ id }) => onCreated(id) })
  const field = fieldsOf(values, setValues, write.error)
  return (
    <FormDialog
      title={t.create}
      submit={common.common.create}
      fields={FIELDS}
      onClose={onClose}
      write={write}
      onSubmit={() =>
        write.mutate({
          body: defined({
            name: values.name,
            slug: orUndefined(values.slug),
            externalId: orNull(values.externalId),
          }),
        })
      }
    >
      <TextField label={common.common.name} isRequired autoFocus {...field("name")} />
      <TextField label={common.common.slug} hint={common.common.slugHint} isCode {...field("slug")} />
      <TextField label={t.externalId} hint={t.externalIdHint} {...field("externalId")} />
    </FormDialog>
  )
}

export const EditOrganization = ({
  onClose,
  organization,
}: {
  readonly organization: Organization
  readonly onClose: () => void
}) => {
  const params = { orgId: organization.id }
  const { dialog, error, setValues, values } = useRecordForm("PATCH /api/platform/organizations/:orgId", {
    record: organization,
    valuesOf: (one) => ({ name: one.name, externalId: one.externalId ?? "" }),
    bodyOf: ({ externalId, name }) => ({ name, externalId: orNull(externalId) }),
    read: () => call("GET /api/platform/organizations/:orgId", { params }),
    request: (body) => ({ params, body }),
    ...STALE,
    done: onClose,
  })
  const field = fieldsOf(values, setValues, error)
  return (
    <FormDialog
      title={t.edit(organization.name)}
      submit={common.common.save}
      fields={["name", "externalId"]}
      onClose={onClose}
      {...dialog}
    >
      <TextField label={common.common.name} isRequired autoFocus {...field("name")} />
      <TextField label={t.externalId} hint={t.externalIdHint} {...field("externalId")} />
    </FormDialog>
  )
}

/** The slug is typed, as a safeguard: nothing brings a removed organization back. */
export const RemoveOrganization = ({
  onClose,
  onDone,
  organization,
}: {
  readonly organization: Organization
  readonly onClose: () => void
  readonly onDone: () => void
}) => {
  const [typed, setTyped] = useState("")
  const write = useWrite("DELETE /api/platform/organizations/:orgId", {
    ...STALE,
    leavesPage: true,
    done: onDone,
  })
  return (
    <FormDialog
      title={t.remove(organization.name)}
      submit={common.common.remove}
      isDangerous
      isDisabled={typed !== organization.slug}
      onClose={onClose}
      write={write}
      onSubmit={() => write.mutate({ params: { orgId: organization.id }, query: { confirm: typed } })}
    >
      <p>{t.removeText}</p>
      <TextField label={t.removeConfirm(organization.slug)} isCode autoFocus value={typed} onChange={setTyped} />
    </FormDialog>
  )
}
