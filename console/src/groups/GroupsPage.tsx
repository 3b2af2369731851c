/** The list of entitlement groups. */
import { formatAmount } from "../kernel/Amount.ts"
import { useNavigate } from "@tanstack/react-router"
import type { EntitlementGroup } from "../kernel/Contract.ts"
import { useRows } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { t as common } from "../kernel/texts.en.ts"
import type { Column } from "../widgets/DataTable.tsx"
import { RecordList } from "../widgets/records/RecordList.tsx"
import { nameColumn, updatedColumn } from "../widgets/records/Columns.tsx"
import { CreateGroup } from "./GroupForm.tsx"
import { t } from "./texts.en.ts"

const columns: ReadonlyArray<Column<EntitlementGroup>> = [
  nameColumn("entitlementGroup", "2fr"),
  { id: "description", title: common.common.description, width: "2fr", cell: ({ description }) => description },
  {
    id: "count",
    title: t.count,
    width: "1fr",
    isNumber: true,
    cell: ({ entitlementSlugs }) => formatAmount(entitlementSlugs.length),
  },
  updatedColumn,
]

export const Page = () => {
  const navigate = useNavigate()
  const rows = useRows("GET /api/entitlement-groups", {})
  const mayWrite = useCan("write:entitlements")
  return (
    <RecordList
      unit="group"
      texts={t}
      columns={columns}
      rows={rows}
      mayWrite={mayWrite}
      form={(close) => (
        <CreateGroup
          onClose={close}
          onCreated={(slug) => void navigate({ to: "/entitlement-groups/$slug", params: { slug } })}
        />
      )}
    />
  )
}
