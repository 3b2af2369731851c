/** Creating, editing and deleting a service account. */
import { useState } from "react"
import type { ServiceAccount } from "../kernel/Contract.ts"
import { defined, useWrite } from "../kernel/Queries.ts"
import { t as common } from "../kernel/texts.en.ts"
import { TextField } from "../widgets/forms/Fields.tsx"
import { ConfirmDialog, errorAt, FormDialog } from "../widgets/forms/Form.tsx"
import { t } from "./texts.en.ts"

const STALE = { stale: ["/api/service-accounts"] }

export const CreateAccount = ({
  onClose,
  onCreated,
}: {
  readonly onClose: () => void
  readonly onCreated: (slug: string) => void
}) => {
  const [name, setName] = useState("")
  const [slug, setSlug] = useState("")
  const write = useWrite("POST /api/service-accounts", { ...STALE, done: (account) => onCreated(account.slug) })
  return (
    <FormDialog
      title={t.create}
      submit={common.common.create}
      fields={["name", "slug"]}
      onClose={onClose}
      write={write}
      onSubmit={() => write.mutate({ body: defined({ name, slug: slug === "" ? undefined : slug }) })}
    >
      <TextField
        label={common.common.name}
        isRequired
        autoFocus
        value={name}
        onChange={setName}
        error={errorAt(write.error, "name")}
      />
      <TextField
        label={common.common.slug}
        hint={common.common.slugHint}
        isCode
        value={slug}
        onChange={setSlug}
        error={errorAt(write.error, "slug")}
      />
    </FormDialog>
  )
}

export const EditAccount = ({
  account,
  onClose,
}: {
  readonly account: ServiceAccount
  readonly onClose: () => void
}) => {
  const [name, setName] = useState(account.name)
  const [externalId, setExternalId] = useState(account.externalId ?? "")
  const write = useWrite("PATCH /api/service-accounts/:serviceAccountSlug", { ...STALE, done: onClose })
  return (
    <FormDialog
      title={t.edit(account.name)}
      submit={common.common.save}
      fields={["name", "externalId"]}
      onClose={onClose}
      write={write}
      onSubmit={() =>
        write.mutate({
          params: { serviceAccountSlug: account.slug },
          body: { name, externalId: externalId === "" ? null : externalId },
        })
      }
    >
      <TextField
        label={common.common.name}
        isRequired
        autoFocus
        value={name}
        onChange={setName}
        error={errorAt(write.error, "name")}
      />
      <TextField
        label={t.externalId}
        hint={t.externalIdHint}
        isCode
        value={externalId}
        onChange={setExternalId}
        error={errorAt(write.error, "externalId")}
      />
    </FormDialog>
  )
}

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
