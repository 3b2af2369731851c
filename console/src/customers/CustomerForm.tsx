/** Creates or changes a customer. */
import { call } from "../kernel/Api.ts"
import type { Body, Customer } from "../kernel/Contract.ts"
import { orNull, orUndefined } from "../kernel/Inputs.ts"
import { defined } from "../kernel/Queries.ts"
import { nameField, recordForm, slugField } from "../widgets/forms/RecordForm.tsx"
import { t } from "./texts.en.ts"

interface Values {
  readonly name: string
  readonly domain: string
  readonly externalCustomerId: string
}

const bodyOf = ({ domain, externalCustomerId, name }: Values) => ({
  name,
  domain: orNull(domain),
  externalCustomerId: orNull(externalCustomerId),
})

const forms = recordForm({
  stale: ["/api/customers"],
  fields: [
    nameField,
    slugField,
    { name: "domain", label: t.domain },
    { name: "externalCustomerId", label: t.externalId, hint: t.externalIdHint },
  ],
  valuesOf: (customer: Customer | undefined) => ({
    name: customer?.name ?? "",
    slug: customer?.slug ?? "",
    domain: customer?.domain ?? "",
    externalCustomerId: customer?.externalCustomerId ?? "",
  }),
  create: {
    operation: "POST /api/customers",
    title: t.create,
    requestOf: (values) => ({ body: defined({ ...bodyOf(values), slug: orUndefined(values.slug) }) }),
    nameOf: ({ slug }) => slug,
  },
  change: {
    operation: "PATCH /api/customers/:customerSlug",
    titleOf: () => t.edit,
    bodyOf,
    updateOf: ({ slug }) => {
      const params = { customerSlug: slug }
      return {
        read: () => call("GET /api/customers/:customerSlug", { params }),
        request: (body: Body<"PATCH /api/customers/:customerSlug">) => ({ params, body }),
      }
    },
  },
})

export const CreateCustomer = forms.Create
export const EditCustomer = forms.Edit
