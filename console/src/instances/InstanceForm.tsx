/** Creates or changes an instance. */
import { useState } from "react"
import { call } from "../kernel/Api.ts"
import type { Body, Instance } from "../kernel/Contract.ts"
import { minuteOf } from "../kernel/forms/Moments.ts"
import { useRecordForm } from "../kernel/forms/Update.ts"
import { orNull, orNullNumber, orUndefined, proseOrNull } from "../kernel/Inputs.ts"
import { defined, useWrite } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { t as common } from "../kernel/texts.en.ts"
import { TextField } from "../widgets/forms/Fields.tsx"
import { fieldsOf, FormDialog } from "../widgets/forms/Form.tsx"
import { MomentField } from "../widgets/forms/MomentField.tsx"
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
  "endMaintenanceDate",
  "deploymentZoneId",
  "description",
] as const
type Values = Readonly<Record<(typeof FIELDS)[number], string>>

const valuesOf = (instance: Instance): Values => ({
  name: instance.name,
  slug: instance.slug,
  customerSlug: instance.customerSlug,
  licenseSlug: instance.licenseSlug,
  startLicenseDate: instance.startLicenseDate,
  endLicenseDate: instance.endLicenseDate ?? "",
  graceDays: instance.graceDays?.toString() ?? "",
  endMaintenanceDate: instance.endMaintenanceDate ?? "",
  deploymentZoneId: instance.deploymentZoneId ?? "",
  description: instance.description ?? "",
})

const bodyOf = (values: Values) => ({
  name: values.name,
  startLicenseDate: values.startLicenseDate,
  endLicenseDate: orNull(values.endLicenseDate),
  graceDays: orNullNumber(values.graceDays),
  endMaintenanceDate: orNull(values.endMaintenanceDate),
  description: proseOrNull(values.description),
  licenseSlug: values.licenseSlug.trim(),
  deploymentZoneId: orNull(values.deploymentZoneId),
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
  const mayReadZones = useCan("read:deployment_zones")
  const field = fieldsOf(values, onChange, error)
  return (
    <>
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
        <MomentField label={t.starts} isRequired {...field("startLicenseDate")} />
        <MomentField label={t.ends} hint={t.endsHint} {...field("endLicenseDate")} />
      </div>
      <MomentField label={t.maintenance} hint={t.maintenanceHint} {...field("endMaintenanceDate")} />
      {mayReadZones && <ZoneField label={t.zone} hint={t.zoneHint} {...field("deploymentZoneId")} />}
      <TextField label={common.common.description} {...field("description")} />
    </>
  )
}

const NEW: Values = {
  name: "",
  slug: "",
  customerSlug: "",
  licenseSlug: "",
  startLicenseDate: "",
  endLicenseDate: "",
  graceDays: "",
  endMaintenanceDate: "",
  deploymentZoneId: "",
  description: "",
}

export const CreateInstance = ({
  customer = "",
  onClose,
  onCreated,
}: {
  readonly customer?: string
  readonly onClose: () => void
  readonly onCreated: (slug: string) => void
}) => {
  const [values, setValues] = useState<Values>(() => ({
    ...NEW,
    customerSlug: customer,
    startLicenseDate: minuteOf(Date.now()),
  }))
  const write = useWrite("POST /api/instances", { stale: ["/api/instances"], done: ({ slug }) => onCreated(slug) })
  return (
    <FormDialog
      title={t.create}
      submit={common.common.create}
      fields={FIELDS}
      onClose={onClose}
      write={write}
      onSubmit={() => {
        const { customerSlug, slug } = values
        write.mutate({
          body: defined({ ...bodyOf(values), slug: orUndefined(slug), customerSlug: customerSlug.trim() }),
        })
      }}
    >
      <Fields values={values} onChange={setValues} error={write.error} isNew />
    </FormDialog>
  )
}

/** What changes of an instance need, whatever they change. */
export const updateOf = ({ slug }: Instance) => {
  const params = { instanceSlug: slug }
  return {
    stale: ["/api/instances"],
    read: () => call("GET /api/instances/:instanceSlug", { params }),
    request: (body: Body<"PATCH /api/instances/:instanceSlug">) => ({ params, body }),
  }
}

export const EditInstance = ({ instance, onClose }: { readonly instance: Instance; readonly onClose: () => void }) => {
  const { dialog, error, setValues, values } = useRecordForm("PATCH /api/instances/:instanceSlug", {
    record: instance,
    valuesOf,
    bodyOf,
    ...updateOf(instance),
    done: onClose,
  })
  return (
    <FormDialog title={t.edit} submit={common.common.save} fields={FIELDS} onClose={onClose} {...dialog}>
      <Fields values={values} onChange={setValues} error={error} isNew={false} />
    </FormDialog>
  )
}
