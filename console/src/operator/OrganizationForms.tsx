/** Creating, changing and removing an organization. */
import { useState } from "react"
import { call } from "../kernel/Api.ts"
import type { Body, Organization } from "../kernel/Contract.ts"
import { orNull, orUndefined } from "../kernel/Inputs.ts"
import { defined, useWrite } from "../kernel/Queries.ts"
import { t as common } from "../kernel/texts.en.ts"
import { TextField } from "../widgets/forms/Fields.tsx"
import { FormDialog } from "../widgets/forms/Form.tsx"
import { nameField, recordForm, slugField } from "../widgets/forms/RecordForm.tsx"
import { t } from "./texts.en.ts"

const STALE = { stale: ["/api/platform/organizations"] }

const bodyOf = ({ externalId, name }: { readonly name: string; readonly externalId: string }) => ({
  name,
  externalId: orNull(externalId),
})

const forms = recordForm({
  ...STALE,
  fields: [nameField, slugField, { name: "externalId", label: t.externalId, hint: t.externalIdHint }],
  valuesOf: (organization: Organization | undefined) => ({
    name: organization?.name ?? "",
    slug: organization?.slug ?? "",
    externalId: organization?.externalId ?? "",
  }),
  create: {
    operation: "POST /api/platform/organizations",
    title: t.create,
    requestOf: (values) => ({ body: defined({ ...bodyOf(values), slug: orUndefined(values.slug) }) }),
    nameOf: ({ id }) => id,
  },
  change: {
    operation: "PATCH /api/platform/organizations/:orgId",
    titleOf: ({ name }) => t.edit(name),
    bodyOf,
    updateOf: ({ id }) => {
      const params = { orgId: id }
      return {
        read: () => call("GET /api/platform/organizations/:orgId", { params }),
        request: (body: Body<"PATCH /api/platform/organizations/:orgId">) => ({ params, body }),
      }
    },
  },
})

export const CreateOrganization = forms.Create
export const EditOrganization = forms.Edit

/** The slug is typed, as a safeguard: nothing brings a removed organization back. */
export const RemoveOrganization = ({
  onClose,
  onDone,
  organization,
}: {
  readonly organization: Organization
  readonly onClose: () => void
  readonly onDone: () => void
}) => {
  const [typed, setTyped] = useState("")
  const write = useWrite("DELETE /api/platform/organizations/:orgId", {
    ...STALE,
    leavesPage: true,
    done: onDone,
  })
  return (
    <FormDialog
      title={t.remove(organization.name)}
      submit={common.common.remove}
      isDangerous
      isDisabled={typed !== organization.slug}
      onClose={onClose}
      write={write}
      onSubmit={() => write.mutate({ params: { orgId: organization.id }, query: { confirm: typed } })}
    >
      <p>{t.removeText}</p>
      <TextField label={t.removeConfirm(organization.slug)} isCode autoFocus value={typed} onChange={setTyped} />
    </FormDialog>
  )
}
