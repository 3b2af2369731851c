/** The list of entitlements. */
import { useNavigate } from "@tanstack/react-router"
import type { Entitlement } from "../kernel/Contract.ts"
import { defined, useRows } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { t as common } from "../kernel/texts.en.ts"
import { useUrl } from "../kernel/Url.ts"
import type { Column } from "../widgets/DataTable.tsx"
import { RecordList } from "../widgets/records/RecordList.tsx"
import { FilterField, FilterSelect } from "../widgets/forms/FilterField.tsx"
import { nameColumn, updatedColumn } from "../widgets/records/Columns.tsx"
import { RecordLink } from "../widgets/records/Links.tsx"
import { CreateEntitlement } from "./EntitlementForm.tsx"
import { measuredText } from "./Measured.ts"
import { t } from "./texts.en.ts"

const columns: ReadonlyArray<Column<Entitlement>> = [
  nameColumn("entitlement", "2fr"),
  { id: "type", title: t.type, width: "1fr", cell: ({ type }) => t.types[type] },
  { id: "measured", title: t.measured, width: "2fr", cell: measuredText },
  {
    id: "groups",
    title: t.groups,
    width: "1.5fr",
    cell: ({ entitlementGroups }) => (
      <span className="tags">
        {entitlementGroups.map(({ id, name, slug }) => (
          <RecordLink key={id} kind="entitlementGroup" slug={slug}>
            {name}
          </RecordLink>
        ))}
      </span>
    ),
  },
  updatedColumn,
]

const types: ReadonlyArray<Entitlement["type"]> = ["NUMBER", "BOOLEAN", "CONFIG"]

export const Page = () => {
  const [{ group = "", q = "", type = "" }] = useUrl()
  const navigate = useNavigate()
  const chosen = types.find((one) => one === type)
  const rows = useRows("GET /api/entitlements", { query: defined({ q, group, type: chosen }) })
  const mayWrite = useCan("write:entitlements")
  const isFiltered = q !== "" || group !== "" || chosen !== undefined
  return (
    <RecordList
      unit="entitlement"
      texts={t}
      columns={columns}
      rows={rows}
      mayWrite={mayWrite}
      form={(close) => (
        <CreateEntitlement
          onClose={close}
          onCreated={(slug) => void navigate({ to: "/entitlements/$slug", params: { slug } })}
        />
      )}
      isFiltered={isFiltered}
    >
      <FilterField label={common.common.filterByName} name="q" />
      <FilterField label={t.group} name="group" />
      <FilterSelect label={t.type} name="type" choices={types.map((id) => ({ id, title: t.types[id] }))} />
    </RecordList>
  )
}
