/** Creating and deleting a person of the installation. */
import { useState } from "react"
import type { User } from "../kernel/Contract.ts"
import { orNull } from "../kernel/Inputs.ts"
import { useWrite } from "../kernel/Queries.ts"
import { t as common } from "../kernel/texts.en.ts"
import { TextField } from "../widgets/forms/Fields.tsx"
import { ConfirmDialog, fieldsOf, FormDialog } from "../widgets/forms/Form.tsx"
import { t } from "./texts.en.ts"

const FIELDS = ["name", "email", "issuer", "subject"] as const

export const CreateUser = ({ onClose }: { readonly onClose: () => void }) => {
  const [values, setValues] = useState({ name: "", email: "", issuer: "", subject: "" })
  const write = useWrite("POST /api/platform/users", { stale: ["/api/platform/users"], done: onClose })
  const field = fieldsOf(values, setValues, write.error)
  return (
    <FormDialog
      title={t.createUser}
      submit={common.common.create}
      fields={FIELDS}
      onClose={onClose}
      write={write}
      onSubmit={() =>
        write.mutate({
          body: {
            name: values.name,
            email: orNull(values.email),
            issuer: orNull(values.issuer),
            subject: orNull(values.subject),
          },
        })
      }
    >
      <TextField label={common.common.name} isRequired autoFocus {...field("name")} />
      <TextField kind="email" label={t.email} {...field("email")} />
      <TextField label={t.issuer} hint={t.issuerHint} isCode {...field("issuer")} />
      <TextField label={t.subject} hint={t.subjectHint} isCode {...field("subject")} />
    </FormDialog>
  )
}

export const DeleteUser = ({ onClose, user }: { readonly user: User; readonly onClose: () => void }) => {
  const write = useWrite("DELETE /api/platform/users/:userId", {
    stale: ["/api/platform/users", "/api/platform/organizations/:orgId/memberships"],
    done: onClose,
  })
  return (
    <ConfirmDialog
      title={t.deleteUser(user.name)}
      submit={common.common.remove}
      onClose={onClose}
      write={write}
      onConfirm={() => write.mutate({ params: { userId: user.id } })}
    >
      <p>{t.deleteUserText}</p>
    </ConfirmDialog>
  )
}
