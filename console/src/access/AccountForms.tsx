/** Creating, editing and deleting a service account. */
import { call } from "../kernel/Api.ts"
import type { Body, ServiceAccount } from "../kernel/Contract.ts"
import { orNull, orUndefined } from "../kernel/Inputs.ts"
import { defined, useWrite } from "../kernel/Queries.ts"
import { t as common } from "../kernel/texts.en.ts"
import { ConfirmDialog } from "../widgets/forms/Form.tsx"
import { nameField, recordForm, slugField } from "../widgets/forms/RecordForm.tsx"
import { t } from "./texts.en.ts"

const STALE = { stale: ["/api/service-accounts"] }

const forms = recordForm({
  ...STALE,
  fields: [
    nameField,
    slugField,
    { name: "externalId", label: t.externalId, hint: t.externalIdHint, isCode: true, isOf: "stored" },
  ],
  valuesOf: (account: ServiceAccount | undefined) => ({
    name: account?.name ?? "",
    slug: account?.slug ?? "",
    externalId: account?.externalId ?? "",
  }),
  create: {
    operation: "POST /api/service-accounts",
    title: t.create,
    requestOf: ({ name, slug }) => ({ body: defined({ name, slug: orUndefined(slug) }) }),
    nameOf: ({ slug }) => slug,
  },
  change: {
    operation: "PATCH /api/service-accounts/:serviceAccountSlug",
    titleOf: ({ name }) => t.edit(name),
    bodyOf: ({ externalId, name }) => ({ name, externalId: orNull(externalId) }),
    updateOf: ({ slug }) => {
      const params = { serviceAccountSlug: slug }
      return {
        read: () => call("GET /api/service-accounts/:serviceAccountSlug", { params }),
        request: (body: Body<"PATCH /api/service-accounts/:serviceAccountSlug">) => ({ params, body }),
      }
    },
  },
})

export const CreateAccount = forms.Create
export const EditAccount = forms.Edit

export const DeleteAccount = ({
  account,
  onClose,
  onDone,
}: {
  readonly account: ServiceAccount
  readonly onClose: () => void
  readonly onDone: () => void
}) => {
  const write = useWrite("DELETE /api/service-accounts/:serviceAccountSlug", {
    leavesPage: true,
    ...STALE,
    done: onDone,
  })
  return (
    <ConfirmDialog
      title={t.remove(account.name)}
      submit={common.common.remove}
      onClose={onClose}
      write={write}
      onConfirm={() => write.mutate({ params: { serviceAccountSlug: account.slug } })}
    >
      <p>{t.removeText}</p>
    </ConfirmDialog>
  )
}
