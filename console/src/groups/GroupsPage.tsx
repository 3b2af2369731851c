/** The list of entitlement groups. */
import { useNavigate } from "@tanstack/react-router"
import { Plus } from "lucide-react"
import { useState } from "react"
import type { EntitlementGroup } from "../kernel/Contract.ts"
import { useRows } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { t as common } from "../kernel/texts.en.ts"
import { Button } from "../widgets/Button.tsx"
import { DataTable } from "../widgets/DataTable.tsx"
import type { Column } from "../widgets/DataTable.tsx"
import { PageHead } from "../widgets/Page.tsx"
import { nameColumn, updatedColumn } from "../widgets/records/Columns.tsx"
import { Empty, ReadOnly } from "../widgets/States.tsx"
import { GroupForm } from "./GroupForm.tsx"
import { t } from "./texts.en.ts"

const columns: ReadonlyArray<Column<EntitlementGroup>> = [
  nameColumn("entitlementGroup", "2fr"),
  { id: "description", title: common.common.description, width: "2fr", cell: ({ description }) => description },
  {
    id: "count",
    title: t.count,
    width: "1fr",
    isNumber: true,
    cell: ({ entitlementSlugs }) => entitlementSlugs.length.toLocaleString(),
  },
  updatedColumn,
]

export const Page = () => {
  const navigate = useNavigate()
  const rows = useRows("GET /api/entitlement-groups", {})
  const [isCreating, setCreating] = useState(false)
  const mayWrite = useCan("write:entitlements")
  const create = mayWrite && (
    <Button look="primary" icon={<Plus aria-hidden size={16} />} onPress={() => setCreating(true)}>
      {t.create}
    </Button>
  )
  return (
    <>
      <PageHead title={t.title} actions={create} />
      {!mayWrite && <ReadOnly />}
      <DataTable
        label={t.title}
        columns={columns}
        rows={rows}
        rowKey={({ id }) => id}
        empty={
          <Empty title={t.empty} action={create}>
            {t.emptyDetail}
          </Empty>
        }
      />
      {isCreating && (
        <GroupForm
          onClose={() => setCreating(false)}
          onSaved={(slug) => void navigate({ to: "/entitlement-groups/$slug", params: { slug } })}
        />
      )}
    </>
  )
}
