/** One entitlement group: its entitlements, and what an instance uses of them. */
import { useNavigate } from "@tanstack/react-router"
import { Plus } from "lucide-react"
import { useState } from "react"
import type { Entitlement, EntitlementGroup } from "../kernel/Contract.ts"
import { useRows } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { Button } from "../widgets/Button.tsx"
import { DataTable } from "../widgets/DataTable.tsx"
import type { Column } from "../widgets/DataTable.tsx"
import { nameColumn, updatedColumn } from "../widgets/records/Columns.tsx"
import { activityTab, deleteAction, editAction, pageOf, RecordPage } from "../widgets/records/RecordPage.tsx"
import { Empty } from "../widgets/States.tsx"
import { Code } from "../widgets/Tag.tsx"
import { AddEntitlement, DeleteGroup, RemoveEntitlement } from "./GroupDialogs.tsx"
import { EditGroup } from "./GroupForm.tsx"
import { GroupUsage } from "./GroupUsage.tsx"
import { t } from "./texts.en.ts"

const Entitlements = ({ group, mayWrite }: { readonly group: EntitlementGroup; readonly mayWrite: boolean }) => {
  const rows = useRows("GET /api/entitlements", { query: { group: group.slug } })
  const [isAdding, setAdding] = useState(false)
  const [leaving, setLeaving] = useState<string>()
  const add = mayWrite && (
    <Button icon={<Plus aria-hidden size={16} />} onPress={() => setAdding(true)}>
      {t.add}
    </Button>
  )
  const columns: ReadonlyArray<Column<Entitlement>> = [
    nameColumn("entitlement", "3fr"),
    updatedColumn,
    {
      id: "leave",
      title: t.leave,
      width: "90px",
      isUntitled: true,
      cell: ({ slug }) =>
        mayWrite ? (
          <Button look="quiet" onPress={() => setLeaving(slug)}>
            <span className="visually-hidden">{t.leaveOf(slug)}</span>
            <span aria-hidden>{t.leave}</span>
          </Button>
        ) : null,
    },
  ]
  return (
    <>
      {group.entitlementSlugs.length > 0 && <div className="tab-tools">{add}</div>}
      <DataTable
        label={t.entitlements}
        unit="entitlement"
        columns={columns}
        rows={rows}
        rowKey={({ id }) => id}
        empty={
          <Empty title={t.noEntitlements} action={add}>
            {t.noEntitlementsDetail}
          </Empty>
        }
      />
      {isAdding && <AddEntitlement group={group} onClose={() => setAdding(false)} />}
      {leaving !== undefined && (
        <RemoveEntitlement group={group} slug={leaving} onClose={() => setLeaving(undefined)} />
      )}
    </>
  )
}

const Loaded = ({ record: group }: { readonly record: EntitlementGroup }) => {
  const navigate = useNavigate()
  const mayWrite = useCan("write:entitlements")
  return (
    <RecordPage
      title={group.name}
      list={{ to: "/entitlement-groups", title: t.title }}
      isReadOnly={!mayWrite}
      actions={[
        editAction(mayWrite, (close) => <EditGroup record={group} onClose={close} />),
        deleteAction(mayWrite, (close) => (
          <DeleteGroup group={group} onClose={close} onDone={() => void navigate({ to: "/entitlement-groups" })} />
        )),
      ]}
      facts={
        <>
          <Code>{group.slug}</Code>
          {group.description !== null && <span>{group.description}</span>}
        </>
      }
      tabs={[
        {
          id: "entitlements",
          title: t.tabs.entitlements,
          content: () => <Entitlements group={group} mayWrite={mayWrite} />,
        },
        { id: "usage", title: t.tabs.usage, content: () => <GroupUsage slug={group.slug} /> },
        activityTab(group),
      ]}
    />
  )
}

export const Page = pageOf(
  "GET /api/entitlement-groups/:entitlementGroupSlug",
  (entitlementGroupSlug) => ({ params: { entitlementGroupSlug } }),
  Loaded,
)
