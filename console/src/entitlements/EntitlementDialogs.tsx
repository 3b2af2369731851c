/** Deletes an entitlement, and changes which groups it is in. */
import { useState } from "react"
import type { Entitlement } from "../kernel/Contract.ts"
import { useWrite } from "../kernel/Queries.ts"
import { t as common } from "../kernel/texts.en.ts"
import { ConfirmDialog, FormDialog } from "../widgets/forms/Form.tsx"
import { ImpactDialog } from "../widgets/records/ImpactDialog.tsx"
import { RecordField } from "../widgets/records/RecordField.tsx"
import { t } from "./texts.en.ts"

const STALE = { stale: ["/api/entitlement"] }

export const DeleteEntitlement = ({
  entitlement,
  onClose,
  onDone,
}: {
  readonly entitlement: Entitlement
  readonly onClose: () => void
  readonly onDone: () => void
}) => (
  <ImpactDialog
    title={t.remove(entitlement.name)}
    submit={common.common.remove}
    operation="DELETE /api/entitlements/:entitlementSlug"
    request={{ params: { entitlementSlug: entitlement.slug } }}
    leavesPage
    {...STALE}
    done={onDone}
    onClose={onClose}
  />
)

export const AddToGroup = ({
  entitlement,
  onClose,
}: {
  readonly entitlement: Entitlement
  readonly onClose: () => void
}) => {
  const [group, setGroup] = useState("")
  const write = useWrite("POST /api/entitlement-groups/:entitlementGroupSlug/entitlements", { ...STALE, done: onClose })
  return (
    <FormDialog
      title={t.addToGroup}
      submit={t.add}
      onClose={onClose}
      write={write}
      isDisabled={group.trim() === ""}
      onSubmit={() =>
        write.mutate({
          params: { entitlementGroupSlug: group.trim() },
          body: { entitlementSlug: entitlement.slug },
        })
      }
    >
      <RecordField
        kind="entitlementGroup"
        label={t.group}
        hint={t.groupHint}
        isRequired
        autoFocus
        value={group}
        onChange={setGroup}
      />
    </FormDialog>
  )
}

export const RemoveFromGroup = ({
  entitlement,
  group,
  onClose,
}: {
  readonly entitlement: Entitlement
  readonly group: Entitlement["entitlementGroups"][number]
  readonly onClose: () => void
}) => {
  const write = useWrite("DELETE /api/entitlement-groups/:entitlementGroupSlug/entitlements/:entitlementSlug", {
    ...STALE,
    done: onClose,
  })
  return (
    <ConfirmDialog
      title={t.removeFromTitle(entitlement.name, group.name)}
      submit={t.removeFrom}
      onClose={onClose}
      write={write}
      onConfirm={() =>
        write.mutate({ params: { entitlementGroupSlug: group.slug, entitlementSlug: entitlement.slug } })
      }
    >
      <p>{t.removeFromText}</p>
    </ConfirmDialog>
  )
}
