/** Creates or changes a customer. */
import { useState } from "react"
import { call } from "../kernel/Api.ts"
import type { Customer } from "../kernel/Contract.ts"
import { useRecordForm } from "../kernel/forms/Update.ts"
import { orNull, orUndefined } from "../kernel/Inputs.ts"
import { defined, useWrite } from "../kernel/Queries.ts"
import { t as common } from "../kernel/texts.en.ts"
import { TextField } from "../widgets/forms/Fields.tsx"
import { fieldsOf, FormDialog } from "../widgets/forms/Form.tsx"
import { t } from "./texts.en.ts"

const FIELDS = ["name", "slug", "domain", "externalCustomerId"] as const
type Values = Readonly<Record<(typeof FIELDS)[number], string>>

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
      <TextField label={t.domain} {...field("domain")} />
      <TextField label={t.externalId} hint={t.externalIdHint} {...field("externalCustomerId")} />
    </>
  )
}

const valuesOf = (customer: Customer): Values => ({
  name: customer.name,
  slug: customer.slug,
  domain: customer.domain ?? "",
  externalCustomerId: customer.externalCustomerId ?? "",
})

const changeableOf = ({ domain, externalCustomerId, name }: Values) => ({
  name,
  domain: orNull(domain),
  externalCustomerId: orNull(externalCustomerId),
})

export const CreateCustomer = ({
  onClose,
  onCreated,
}: {
  readonly onClose: () => void
  readonly onCreated: (slug: string) => void
}) => {
  const [values, setValues] = useState<Values>({ name: "", slug: "", domain: "", externalCustomerId: "" })
  const write = useWrite("POST /api/customers", { stale: ["/api/customers"], done: ({ slug }) => onCreated(slug) })
  return (
    <FormDialog
      title={t.create}
      submit={common.common.create}
      fields={FIELDS}
      onClose={onClose}
      write={write}
      onSubmit={() =>
        write.mutate({
          body: defined({ ...changeableOf(values), slug: orUndefined(values.slug) }),
        })
      }
    >
      <Fields values={values} onChange={setValues} error={write.error} isNew />
    </FormDialog>
  )
}

export const EditCustomer = ({ customer, onClose }: { readonly customer: Customer; readonly onClose: () => void }) => {
  const params = { customerSlug: customer.slug }
  const { dialog, error, setValues, values } = useRecordForm("PATCH /api/customers/:customerSlug", {
    record: customer,
    valuesOf,
    bodyOf: changeableOf,
    read: () => call("GET /api/customers/:customerSlug", { params }),
    request: (body) => ({ params, body }),
    stale: ["/api/customers"],
    done: onClose,
  })
  return (
    <FormDialog title={t.edit} submit={common.common.save} fields={FIELDS} onClose={onClose} {...dialog}>
      <Fields values={values} onChange={setValues} error={error} isNew={false} />
    </FormDialog>
  )
}
