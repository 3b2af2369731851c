/** Creates or changes an entitlement group. */
import { call } from "../kernel/Api.ts"
import type { Body, EntitlementGroup } from "../kernel/Contract.ts"
import { orUndefined, proseOrNull } from "../kernel/Inputs.ts"
import { defined } from "../kernel/Queries.ts"
import { descriptionField, nameField, recordForm, slugField } from "../widgets/forms/RecordForm.tsx"
import { t } from "./texts.en.ts"

const bodyOf = ({ description, name }: { readonly name: string; readonly description: string }) => ({
  name,
  description: proseOrNull(description),
})

const forms = recordForm({
  stale: ["/api/entitlement"],
  fields: [nameField, slugField, descriptionField],
  valuesOf: (group: EntitlementGroup | undefined) => ({
    name: group?.name ?? "",
    slug: group?.slug ?? "",
    description: group?.description ?? "",
  }),
  create: {
    operation: "POST /api/entitlement-groups",
    title: t.create,
    requestOf: (values) => ({ body: defined({ ...bodyOf(values), slug: orUndefined(values.slug) }) }),
    nameOf: ({ slug }) => slug,
  },
  change: {
    operation: "PUT /api/entitlement-groups/:entitlementGroupSlug",
    titleOf: () => t.edit,
    bodyOf,
    updateOf: ({ slug }) => {
      const params = { entitlementGroupSlug: slug }
      return {
        read: () => call("GET /api/entitlement-groups/:entitlementGroupSlug", { params }),
        request: (body: Body<"PUT /api/entitlement-groups/:entitlementGroupSlug">) => ({ params, body }),
      }
    },
  },
})

export const CreateGroup = forms.Create
export const EditGroup = forms.Edit
