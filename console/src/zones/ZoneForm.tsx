/** Creates or changes a zone. A release is deployed to an existing zone by its own dialog. */
import { useState } from "react"
import { call } from "../kernel/Api.ts"
import type { Body, Zone } from "../kernel/Contract.ts"
import { useRecordForm } from "../kernel/forms/Update.ts"
import { orUndefined, proseOrNull } from "../kernel/Inputs.ts"
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

const valuesOf = (zone: Zone | undefined): Values => ({
  name: zone?.name ?? "",
  slug: zone?.slug ?? "",
  type: zone?.type ?? "",
  description: zone?.description ?? "",
  releaseId: "",
})

const bodyOf = ({ description, name, type }: Values) => ({
  name,
  type: type.trim(),
  description: proseOrNull(description),
})

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
  const mayReadReleases = useCan("read:releases")
  return (
    <>
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
    </>
  )
}

export const CreateZone = ({
  onClose,
  onCreated,
}: {
  readonly onClose: () => void
  readonly onCreated: (slug: string) => void
}) => {
  const [values, setValues] = useState(() => valuesOf(undefined))
  const write = useWrite("POST /api/deployment-zones", { ...STALE, done: ({ slug }) => onCreated(slug) })
  return (
    <FormDialog
      title={t.create}
      submit={common.common.create}
      fields={FIELDS}
      onClose={onClose}
      write={write}
      onSubmit={() => {
        const { releaseId, slug } = values
        write.mutate({
          body: defined({ ...bodyOf(values), slug: orUndefined(slug), releaseId: orUndefined(releaseId) }),
        })
      }}
    >
      <Fields values={values} onChange={setValues} error={write.error} isNew />
    </FormDialog>
  )
}

/** What changes records of zones needs, whatever it changes. */
export const updateOf = ({ slug }: Zone) => {
  const params = { deploymentZoneSlug: slug }
  return {
    ...STALE,
    read: () => call("GET /api/deployment-zones/:deploymentZoneSlug", { params }),
    request: (body: Body<"PUT /api/deployment-zones/:deploymentZoneSlug">) => ({ params, body }),
  }
}

export const EditZone = ({ onClose, zone }: { readonly zone: Zone; readonly onClose: () => void }) => {
  const { dialog, error, setValues, values } = useRecordForm("PUT /api/deployment-zones/:deploymentZoneSlug", {
    record: zone,
    valuesOf,
    bodyOf,
    ...updateOf(zone),
    done: onClose,
  })
  return (
    <FormDialog title={t.edit} submit={common.common.save} fields={FIELDS} onClose={onClose} {...dialog}>
      <Fields values={values} onChange={setValues} error={error} isNew={false} />
    </FormDialog>
  )
}
