/** The list of deployment zones. */
import { useNavigate } from "@tanstack/react-router"
import { Plus } from "lucide-react"
import { useCallback, useState } from "react"
import type { Zone } from "../kernel/Contract.ts"
import { useRows } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { t as common } from "../kernel/texts.en.ts"
import { useUrl } from "../kernel/Url.ts"
import { Button } from "../widgets/Button.tsx"
import { DataTable } from "../widgets/DataTable.tsx"
import type { Column } from "../widgets/DataTable.tsx"
import { nameColumn, updatedColumn } from "../widgets/records/Columns.tsx"
import { FilterField } from "../widgets/forms/FilterField.tsx"
import { PageHead } from "../widgets/Page.tsx"
import { RecordLink } from "../widgets/records/Links.tsx"
import { EmptyList, ReadOnly } from "../widgets/States.tsx"
import { useReleases } from "./Releases.ts"
import { t } from "./texts.en.ts"
import { ZoneForm } from "./ZoneForm.tsx"

export const Page = () => {
  const [{ q = "", release = "", type = "" }, setUrl] = useUrl()
  const navigate = useNavigate()
  const rows = useRows("GET /api/deployment-zones", { query: { q, type, release } })
  const releases = new Map(useReleases().map((one) => [one.id, one]))
  const [isCreating, setCreating] = useState(false)
  const mayWrite = useCan("write:deployment_zones")
  const setQ = useCallback((text: string) => setUrl({ q: text }), [setUrl])
  const setType = useCallback((text: string) => setUrl({ type: text }), [setUrl])
  const setRelease = useCallback((text: string) => setUrl({ release: text }), [setUrl])
  const create = mayWrite && (
    <Button look="primary" icon={<Plus aria-hidden size={16} />} onPress={() => setCreating(true)}>
      {t.create}
    </Button>
  )
  const columns: ReadonlyArray<Column<Zone>> = [
    nameColumn("zone", "2fr"),
    { id: "type", title: t.type, width: "1fr", cell: ({ type: text }) => text },
    {
      id: "release",
      title: t.release,
      width: "1fr",
      cell: ({ releaseId }) => {
        const found = releaseId === null ? undefined : releases.get(releaseId)
        return found === undefined ? null : (
          <RecordLink kind="release" slug={found.slug}>
            {found.version}
          </RecordLink>
        )
      },
    },
    updatedColumn,
  ]
  return (
    <>
      <PageHead title={t.title} actions={create} />
      {!mayWrite && <ReadOnly />}
      <div className="filters">
        <FilterField label={common.common.filterByName} value={q} onChange={setQ} />
        <FilterField label={t.type} value={type} onChange={setType} />
        <FilterField label={t.releaseFilter} value={release} onChange={setRelease} />
      </div>
      <DataTable
        label={t.title}
        columns={columns}
        rows={rows}
        rowKey={({ id }) => id}
        empty={
          <EmptyList isFiltered={q !== "" || type !== "" || release !== ""} title={t.empty} action={create}>
            {t.emptyDetail}
          </EmptyList>
        }
      />
      {isCreating && (
        <ZoneForm
          onClose={() => setCreating(false)}
          onSaved={(slug) => void navigate({ to: "/zones/$slug", params: { slug } })}
        />
      )}
    </>
  )
}
