/** Creates or changes an entitlement group. */
import { useState } from "react"
import { call } from "../kernel/Api.ts"
import type { EntitlementGroup } from "../kernel/Contract.ts"
import { useRecordForm } from "../kernel/forms/Update.ts"
import { orUndefined, proseOrNull } from "../kernel/Inputs.ts"
import { defined, useWrite } from "../kernel/Queries.ts"
import { t as common } from "../kernel/texts.en.ts"
import { TextField } from "../widgets/forms/Fields.tsx"
import { fieldsOf, FormDialog } from "../widgets/forms/Form.tsx"
import { t } from "./texts.en.ts"

const FIELDS = ["name", "slug", "description"] as const
type Values = Readonly<Record<(typeof FIELDS)[number], string>>

const STALE = { stale: ["/api/entitlement"] }

const valuesOf = (group: EntitlementGroup | undefined): Values => ({
  name: group?.name ?? "",
  slug: group?.slug ?? "",
  description: group?.description ?? "",
})

const bodyOf = ({ description, name }: Values) => ({ name, description: proseOrNull(description) })

const Fields = ({
  error,
  isNew,
  onChange,
  values,
}: {
  readonly values: Values
  readonly onChange: (values: Values) => void
  readonly error: unknown
  readonly isNew: boolean
}) => {
  const field = fieldsOf(values, onChange, error)
  return (
    <>
      <TextField label={common.common.name} isRequired autoFocus {...field("name")} />
      {isNew && <TextField label={common.common.slug} hint={common.common.slugHint} isCode {...field("slug")} />}
      <TextField label={common.common.description} {...field("description")} />
    </>
  )
}

export const CreateGroup = ({
  onClose,
  onCreated,
}: {
  readonly onClose: () => void
  readonly onCreated: (slug: string) => void
}) => {
  const [values, setValues] = useState(() => valuesOf(undefined))
  const write = useWrite("POST /api/entitlement-groups", { ...STALE, done: ({ slug }) => onCreated(slug) })
  return (
    <FormDialog
      title={t.create}
      submit={common.common.create}
      fields={FIELDS}
      onClose={onClose}
      write={write}
      onSubmit={() => write.mutate({ body: defined({ ...bodyOf(values), slug: orUndefined(values.slug) }) })}
    >
      <Fields values={values} onChange={setValues} error={write.error} isNew />
    </FormDialog>
  )
}

export const EditGroup = ({ group, onClose }: { readonly group: EntitlementGroup; readonly onClose: () => void }) => {
  const params = { entitlementGroupSlug: group.slug }
  const { dialog, error, setValues, values } = useRecordForm("PUT /api/entitlement-groups/:entitlementGroupSlug", {
    record: group,
    valuesOf,
    bodyOf,
    read: () => call("GET /api/entitlement-groups/:entitlementGroupSlug", { params }),
    request: (body) => ({ params, body }),
    ...STALE,
    done: onClose,
  })
  return (
    <FormDialog title={t.edit} submit={common.common.save} fields={FIELDS} onClose={onClose} {...dialog}>
      <Fields values={values} onChange={setValues} error={error} isNew={false} />
    </FormDialog>
  )
}
