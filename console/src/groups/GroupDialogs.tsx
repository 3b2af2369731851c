/** Changes which entitlements are in a group, and deletes it. */
import { useState } from "react"
import type { EntitlementGroup } from "../kernel/Contract.ts"
import { useWrite } from "../kernel/Queries.ts"
import { t as common } from "../kernel/texts.en.ts"
import { ConfirmDialog, errorAt, FormDialog } from "../widgets/forms/Form.tsx"
import { RecordField } from "../widgets/records/RecordField.tsx"
import { t } from "./texts.en.ts"

const STALE = { stale: ["/api/entitlement"] }

interface Props {
  readonly group: EntitlementGroup
  readonly onClose: () => void
}

export const AddEntitlement = ({ group, onClose }: Props) => {
  const [entitlementSlug, setSlug] = useState("")
  const write = useWrite("POST /api/entitlement-groups/:entitlementGroupSlug/entitlements", { ...STALE, done: onClose })
  return (
    <FormDialog
      title={t.add}
      submit={t.addSubmit}
      fields={["entitlementSlug"]}
      onClose={onClose}
      write={write}
      onSubmit={() =>
        write.mutate({
          params: { entitlementGroupSlug: group.slug },
          body: { entitlementSlug: entitlementSlug.trim() },
        })
      }
    >
      <RecordField
        kind="entitlement"
        label={t.entitlement}
        isRequired
        autoFocus
        value={entitlementSlug}
        onChange={setSlug}
        error={errorAt(write.error, "entitlementSlug")}
      />
    </FormDialog>
  )
}

export const RemoveEntitlement = ({ group, onClose, slug }: Props & { readonly slug: string }) => {
  const write = useWrite("DELETE /api/entitlement-groups/:entitlementGroupSlug/entitlements/:entitlementSlug", {
    ...STALE,
    done: onClose,
  })
  return (
    <ConfirmDialog
      title={t.leaveTitle(slug, group.name)}
      submit={t.leave}
      onClose={onClose}
      write={write}
      onConfirm={() => write.mutate({ params: { entitlementGroupSlug: group.slug, entitlementSlug: slug } })}
    >
      <p>{t.leaveText}</p>
    </ConfirmDialog>
  )
}

export const DeleteGroup = ({ group, onClose, onDone }: Props & { readonly onDone: () => void }) => {
  const write = useWrite("DELETE /api/entitlement-groups/:entitlementGroupSlug", {
    leavesPage: true,
    ...STALE,
    done: onDone,
  })
  return (
    <ConfirmDialog
      title={t.remove(group.name)}
      submit={common.common.remove}
      onClose={onClose}
      write={write}
      onConfirm={() => write.mutate({ params: { entitlementGroupSlug: group.slug } })}
    >
      <p>{t.removeText}</p>
    </ConfirmDialog>
  )
}
