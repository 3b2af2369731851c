/** The list of deployment zones. */
import { useNavigate } from "@tanstack/react-router"
import type { Zone } from "../kernel/Contract.ts"
import { useRows } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { t as common } from "../kernel/texts.en.ts"
import { useUrl } from "../kernel/Url.ts"
import type { Column } from "../widgets/DataTable.tsx"
import { nameColumn, updatedColumn } from "../widgets/records/Columns.tsx"
import { RecordList } from "../widgets/records/RecordList.tsx"
import { FilterField } from "../widgets/forms/FilterField.tsx"
import { RecordLink } from "../widgets/records/Links.tsx"
import { useReleases } from "./Releases.ts"
import { t } from "./texts.en.ts"
import { CreateZone } from "./ZoneForm.tsx"

export const Page = () => {
  const [{ q = "", release = "", type = "" }] = useUrl()
  const navigate = useNavigate()
  const rows = useRows("GET /api/deployment-zones", { query: { q, type, release } })
  const releases = new Map(useReleases().map((one) => [one.id, one]))
  const mayWrite = useCan("write:deployment_zones")
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
    <RecordList
      unit="zone"
      texts={t}
      columns={columns}
      rows={rows}
      mayWrite={mayWrite}
      form={(close) => (
        <CreateZone onClose={close} onCreated={(slug) => void navigate({ to: "/zones/$slug", params: { slug } })} />
      )}
      isFiltered={q !== "" || type !== "" || release !== ""}
    >
      <FilterField label={common.common.filterByName} name="q" />
      <FilterField label={t.type} name="type" />
      <FilterField label={t.releaseFilter} name="release" />
    </RecordList>
  )
}
