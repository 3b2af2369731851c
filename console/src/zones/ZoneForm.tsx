/** Creates or changes a zone. A release is deployed to an existing zone by its own dialog. */
import { call } from "../kernel/Api.ts"
import type { Body, Zone } from "../kernel/Contract.ts"
import { orUndefined, proseOrNull } from "../kernel/Inputs.ts"
import { defined } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { SelectField } from "../widgets/forms/Fields.tsx"
import { PickField, SuggestField } from "../widgets/forms/Pick.tsx"
import { descriptionField, nameField, recordForm, slugField } from "../widgets/forms/RecordForm.tsx"
import type { FieldInput } from "../widgets/forms/RecordForm.tsx"
import { candidateOf, useReleases } from "./Releases.ts"
import { t } from "./texts.en.ts"

const STALE = { stale: ["/api/deployment-zones"] }

const TypeField = (field: FieldInput) => (
  <SuggestField
    label={t.type}
    hint={t.typeHint}
    isRequired
    choices={t.types.filter((type) => type.startsWith(field.value)).map((type) => ({ id: type, title: type }))}
    {...field}
  />
)

const ReleaseField = (field: FieldInput) => {
  const releases = useReleases()
  if (!useCan("read:releases")) return null
  return <PickField label={t.release} hint={t.releaseHint} choices={releases.map(candidateOf)} {...field} />
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

const AccessField = (field: FieldInput) => (
  <SelectField
    label={t.access}
    choices={(["WARN", "REFUSE"] as const).map((id) => ({ id, title: t.accessModes[id] }))}
    {...field}
  />
)

interface Values {
  readonly name: string
  readonly type: string
  readonly description: string
  readonly releaseAccess: string
}

const bodyOf = ({ description, name, releaseAccess, type }: Values) => ({
  name,
  releaseAccess: releaseAccess as Zone["releaseAccess"],
  type: type.trim(),
  description: proseOrNull(description),
})

const forms = recordForm({
  ...STALE,
  fields: [
    nameField,
    slugField,
    { name: "type", Field: TypeField },
    descriptionField,
    { name: "releaseId", isOf: "new", Field: ReleaseField },
    { name: "releaseAccess", Field: AccessField },
  ],
  valuesOf: (zone: Zone | undefined) => ({
    name: zone?.name ?? "",
    slug: zone?.slug ?? "",
    type: zone?.type ?? "",
    description: zone?.description ?? "",
    releaseId: "",
    releaseAccess: zone?.releaseAccess ?? "WARN",
  }),
  create: {
    operation: "POST /api/deployment-zones",
    title: t.create,
    requestOf: (values) => ({
      body: defined({
        ...bodyOf(values),
        slug: orUndefined(values.slug),
        releaseId: orUndefined(values.releaseId),
      }),
    }),
    nameOf: ({ slug }) => slug,
  },
  change: {
    operation: "PUT /api/deployment-zones/:deploymentZoneSlug",
    titleOf: () => t.edit,
    bodyOf,
    updateOf,
  },
})

export const CreateZone = forms.Create
export const EditZone = forms.Edit
