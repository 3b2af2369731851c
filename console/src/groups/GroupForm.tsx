/** Creates or changes an entitlement group. */
import { useState } from "react"
import type { EntitlementGroup } from "../kernel/Contract.ts"
import { orNull, orUndefined } from "../kernel/Inputs.ts"
import { defined, useWrite } from "../kernel/Queries.ts"
import { t as common } from "../kernel/texts.en.ts"
import { TextField } from "../widgets/forms/Fields.tsx"
import { fieldsOf, FormDialog } from "../widgets/forms/Form.tsx"
import { t } from "./texts.en.ts"

const FIELDS = ["name", "slug", "description"] as const
type Values = Readonly<Record<(typeof FIELDS)[number], string>>

const STALE = { stale: ["/api/entitlement"] }

export const GroupForm = ({
  group,
  onClose,
  onSaved,
}: {
  readonly group?: EntitlementGroup
  readonly onClose: () => void
  readonly onSaved: (slug: string) => void
}) => {
  const [values, setValues] = useState<Values>({
    name: group?.name ?? "",
    slug: group?.slug ?? "",
    description: group?.description ?? "",
  })
  const create = useWrite("POST /api/entitlement-groups", { ...STALE, done: ({ slug }) => onSaved(slug) })
  const update = useWrite("PUT /api/entitlement-groups/:entitlementGroupSlug", {
    ...STALE,
    done: () => onSaved(values.slug),
  })
  const isNew = group === undefined
  const write = isNew ? create : update
  const field = fieldsOf(values, setValues, write.error)
  const submit = () => {
    const body = { name: values.name, description: orNull(values.description) }
    if (isNew) create.mutate({ body: defined({ ...body, slug: orUndefined(values.slug) }) })
    else update.mutate({ params: { entitlementGroupSlug: group.slug }, body })
  }
  return (
    <FormDialog
      title={isNew ? t.create : t.edit}
      submit={isNew ? common.common.create : common.common.save}
      fields={FIELDS}
      onClose={onClose}
      write={write}
      onSubmit={submit}
    >
      <TextField label={common.common.name} isRequired autoFocus {...field("name")} />
      {isNew && <TextField label={common.common.slug} hint={common.common.slugHint} isCode {...field("slug")} />}
      <TextField label={common.common.description} {...field("description")} />
    </FormDialog>
  )
}
