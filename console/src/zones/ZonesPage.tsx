/** The list of deployment zones. */
import { useCallback } from "react"
import type { Zone } from "../kernel/Contract.ts"
import { useRead, useRows } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { t as common } from "../kernel/texts.en.ts"
import { useUrl } from "../kernel/Url.ts"
import { DataTable } from "../widgets/DataTable.tsx"
import type { Column } from "../widgets/DataTable.tsx"
import { nameColumn, updatedColumn } from "../widgets/records/Columns.tsx"
import { FilterField } from "../widgets/forms/FilterField.tsx"
import { PageHead } from "../widgets/Page.tsx"
import { EmptyList } from "../widgets/States.tsx"
import { t } from "./texts.en.ts"

export const Page = () => {
  const [{ q = "" }, setUrl] = useUrl()
  const rows = useRows("GET /api/deployment-zones", { query: { q } })
  const releases = useRead("GET /api/releases", { query: { limit: "200" } }, { when: useCan("read:releases") })
  const setQ = useCallback((text: string) => setUrl({ q: text }), [setUrl])
  const columns: ReadonlyArray<Column<Zone>> = [
    nameColumn("zone", "2fr"),
    { id: "type", title: t.type, width: "1fr", cell: ({ type }) => type },
    {
      id: "release",
      title: t.release,
      width: "1fr",
      cell: ({ releaseId }) => releases.data?.items.find(({ id }) => id === releaseId)?.version,
    },
    updatedColumn,
  ]
  return (
    <>
      <PageHead title={t.title} />
      <div className="filters">
        <FilterField label={common.common.filterByName} value={q} onChange={setQ} />
      </div>
      <DataTable
        label={t.title}
        columns={columns}
        rows={rows}
        rowKey={({ id }) => id}
        empty={
          <EmptyList isFiltered={q !== ""} title={t.empty}>
            {t.emptyDetail}
          </EmptyList>
        }
      />
    </>
  )
}
