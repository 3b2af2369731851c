/** Creates or changes a zone. A release is deployed to an existing zone by its own dialog. */
import { useState } from "react"
import type { Zone } from "../kernel/Contract.ts"
import { orNull, orUndefined } from "../kernel/Inputs.ts"
import { defined, useWrite } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { t as common } from "../kernel/texts.en.ts"
import { TextField } from "../widgets/forms/Fields.tsx"
import { fieldsOf, FormDialog } from "../widgets/forms/Form.tsx"
import { PickField, SuggestField } from "../widgets/forms/Pick.tsx"
import { candidateOf, useReleases } from "./Releases.ts"
import { t } from "./texts.en.ts"

const FIELDS = ["name", "slug", "type", "description", "releaseId"] as const
type Values = Readonly<Record<(typeof FIELDS)[number], string>>

const STALE = { stale: ["/api/deployment-zones"] }

const ReleaseField = (field: {
  readonly value: string
  readonly onChange: (value: string) => void
  readonly error: string | undefined
}) => <PickField label={t.release} hint={t.releaseHint} choices={useReleases().map(candidateOf)} {...field} />

export const ZoneForm = ({
  onClose,
  onSaved,
  zone,
}: {
  readonly zone?: Zone
  readonly onClose: () => void
  readonly onSaved: (slug: string) => void
}) => {
  const [values, setValues] = useState<Values>({
    name: zone?.name ?? "",
    slug: zone?.slug ?? "",
    type: zone?.type ?? "",
    description: zone?.description ?? "",
    releaseId: "",
  })
  const create = useWrite("POST /api/deployment-zones", { ...STALE, done: ({ slug }) => onSaved(slug) })
  const update = useWrite("PUT /api/deployment-zones/:deploymentZoneSlug", {
    ...STALE,
    done: () => onSaved(values.slug),
  })
  const mayReadReleases = useCan("read:releases")
  const isNew = zone === undefined
  const write = isNew ? create : update
  const field = fieldsOf(values, setValues, write.error)
  const submit = () => {
    const body = { name: values.name, type: values.type.trim(), description: orNull(values.description) }
    if (isNew) {
      create.mutate({
        body: defined({ ...body, slug: orUndefined(values.slug), releaseId: orUndefined(values.releaseId) }),
      })
    } else update.mutate({ params: { deploymentZoneSlug: zone.slug }, body })
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
      <SuggestField
        label={t.type}
        hint={t.typeHint}
        isRequired
        choices={t.types.filter((type) => type.startsWith(values.type)).map((type) => ({ id: type, title: type }))}
        {...field("type")}
      />
      <TextField label={common.common.description} {...field("description")} />
      {isNew && mayReadReleases && <ReleaseField {...field("releaseId")} />}
    </FormDialog>
  )
}
