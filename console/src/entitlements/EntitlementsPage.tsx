/** The list of entitlements. */
import { useNavigate } from "@tanstack/react-router"
import { Plus } from "lucide-react"
import { useCallback, useState } from "react"
import type { Entitlement } from "../kernel/Contract.ts"
import { defined, useRows } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { t as common } from "../kernel/texts.en.ts"
import { useUrl } from "../kernel/Url.ts"
import { Button } from "../widgets/Button.tsx"
import { DataTable } from "../widgets/DataTable.tsx"
import type { Column } from "../widgets/DataTable.tsx"
import { SelectField } from "../widgets/forms/Fields.tsx"
import { FilterField } from "../widgets/forms/FilterField.tsx"
import { PageHead } from "../widgets/Page.tsx"
import { nameColumn, updatedColumn } from "../widgets/records/Columns.tsx"
import { RecordLink } from "../widgets/records/Links.tsx"
import { EmptyList, ReadOnly } from "../widgets/States.tsx"
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
  const [{ group = "", q = "", type = "" }, setUrl] = useUrl()
  const navigate = useNavigate()
  const chosen = types.find((one) => one === type)
  const rows = useRows("GET /api/entitlements", { query: defined({ q, group, type: chosen }) })
  const [isCreating, setCreating] = useState(false)
  const mayWrite = useCan("write:entitlements")
  const setQ = useCallback((text: string) => setUrl({ q: text }), [setUrl])
  const setGroup = useCallback((text: string) => setUrl({ group: text }), [setUrl])
  const create = mayWrite && (
    <Button look="primary" icon={<Plus aria-hidden size={16} />} onPress={() => setCreating(true)}>
      {t.create}
    </Button>
  )
  const isFiltered = q !== "" || group !== "" || chosen !== undefined
  return (
    <>
      <PageHead title={t.title} actions={create} />
      {!mayWrite && <ReadOnly />}
      <div className="filters">
        <FilterField label={common.common.filterByName} value={q} onChange={setQ} />
        <FilterField label={t.group} value={group} onChange={setGroup} />
        <SelectField
          label={t.type}
          value={chosen ?? ""}
          onChange={(id) => setUrl({ type: id })}
          choices={[{ id: "", title: common.common.all }, ...types.map((id) => ({ id, title: t.types[id] }))]}
        />
      </div>
      <DataTable
        label={t.title}
        columns={columns}
        rows={rows}
        rowKey={({ id }) => id}
        empty={
          <EmptyList isFiltered={isFiltered} title={t.empty} action={create}>
            {t.emptyDetail}
          </EmptyList>
        }
      />
      {isCreating && (
        <CreateEntitlement
          onClose={() => setCreating(false)}
          onCreated={(slug) => void navigate({ to: "/entitlements/$slug", params: { slug } })}
        />
      )}
    </>
  )
}
