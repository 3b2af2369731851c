/** Creates or changes an instance. */
import { useState } from "react"
import type { Instance } from "../kernel/Contract.ts"
import { inputOfMoment, momentOfInput } from "../kernel/Formats.ts"
import { orNull, orNullNumber, orUndefined } from "../kernel/Inputs.ts"
import { defined, useWrite } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { t as common } from "../kernel/texts.en.ts"
import { TextField } from "../widgets/forms/Fields.tsx"
import { fieldsOf, FormDialog } from "../widgets/forms/Form.tsx"
import { RecordField, ZoneField } from "../widgets/records/RecordField.tsx"
import { t } from "./texts.en.ts"

const FIELDS = [
  "name",
  "slug",
  "customerSlug",
  "licenseSlug",
  "startLicenseDate",
  "endLicenseDate",
  "graceDays",
  "deploymentZoneId",
  "description",
] as const
type Values = Readonly<Record<(typeof FIELDS)[number], string>>

const initial = (instance: Instance | undefined, customer: string): Values => ({
  name: instance?.name ?? "",
  slug: instance?.slug ?? "",
  customerSlug: instance?.customerSlug ?? customer,
  licenseSlug: instance?.licenseSlug ?? "",
  startLicenseDate: inputOfMoment(instance?.startLicenseDate ?? new Date().toISOString()),
  endLicenseDate: inputOfMoment(instance?.endLicenseDate),
  graceDays: instance?.graceDays?.toString() ?? "",
  deploymentZoneId: instance?.deploymentZoneId ?? "",
  description: instance?.description ?? "",
})

const bodyOf = (values: Values) => ({
  name: values.name,
  startLicenseDate: momentOfInput(values.startLicenseDate) ?? "",
  endLicenseDate: momentOfInput(values.endLicenseDate) ?? null,
  graceDays: orNullNumber(values.graceDays),
  description: orNull(values.description),
  licenseSlug: values.licenseSlug.trim(),
  deploymentZoneId: orNull(values.deploymentZoneId),
})

export const InstanceForm = ({
  customer = "",
  instance,
  onClose,
  onSaved,
}: {
  readonly instance?: Instance
  readonly customer?: string
  readonly onClose: () => void
  readonly onSaved: (slug: string) => void
}) => {
  const [values, setValues] = useState(() => initial(instance, customer))
  const create = useWrite("POST /api/instances", { stale: ["/api/instances"], done: ({ slug }) => onSaved(slug) })
  const update = useWrite("PATCH /api/instances/:instanceSlug", {
    stale: ["/api/instances"],
    done: () => onSaved(values.slug),
  })
  const mayReadZones = useCan("read:deployment_zones")
  const isNew = instance === undefined
  const write = isNew ? create : update
  const field = fieldsOf(values, setValues, write.error)
  const submit = () => {
    const body = bodyOf(values)
    if (isNew) {
      const slug = orUndefined(values.slug)
      create.mutate({ body: defined({ ...body, slug, customerSlug: values.customerSlug.trim() }) })
      return
    }
    // An archived license can stay, but cannot be chosen again: it is sent only if it changes.
    const { licenseSlug, ...rest } = body
    update.mutate({
      params: { instanceSlug: instance.slug },
      body: licenseSlug === instance.licenseSlug ? rest : { ...rest, licenseSlug },
    })
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
      {isNew && (
        <div className="form-row">
          <TextField label={common.common.slug} hint={common.common.slugHint} isCode {...field("slug")} />
          <RecordField kind="customer" label={t.customer} hint={t.customerHint} isRequired {...field("customerSlug")} />
        </div>
      )}
      <div className="form-row">
        <RecordField kind="license" label={t.license} hint={t.licenseHint} isRequired {...field("licenseSlug")} />
        <TextField kind="decimal" label={t.graceDays} hint={t.graceHint} {...field("graceDays")} />
      </div>
      <div className="form-row">
        <TextField kind="datetime-local" label={t.starts} isRequired {...field("startLicenseDate")} />
        <TextField kind="datetime-local" label={t.ends} hint={t.endsHint} {...field("endLicenseDate")} />
      </div>
      {mayReadZones && <ZoneField label={t.zone} hint={t.zoneHint} {...field("deploymentZoneId")} />}
      <TextField label={common.common.description} {...field("description")} />
    </FormDialog>
  )
}
