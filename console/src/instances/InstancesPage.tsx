/** The list of instances. */
import { useNavigate } from "@tanstack/react-router"
import type { Instance } from "../kernel/Contract.ts"
import { formatBoundary, plusDays, thisHour } from "../kernel/Formats.ts"
import { useRows } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { t as common } from "../kernel/texts.en.ts"
import { useUrl } from "../kernel/Url.ts"
import type { Column } from "../widgets/DataTable.tsx"
import { customerColumn, licenseColumn, nameColumn } from "../widgets/records/Columns.tsx"
import { RecordList } from "../widgets/records/RecordList.tsx"
import { FilterField, FilterSelect } from "../widgets/forms/FilterField.tsx"
import { CreateInstance } from "./InstanceForm.tsx"
import { TermState } from "./Term.tsx"
import { t } from "./texts.en.ts"

const columns: ReadonlyArray<Column<Instance>> = [
  nameColumn("instance", "2.5fr"),
  customerColumn("1.5fr"),
  licenseColumn("1.2fr"),
  {
    id: "ends",
    title: t.ends,
    width: "1.2fr",
    cell: ({ endLicenseDate }) => (endLicenseDate === null ? common.common.never : formatBoundary(endLicenseDate)),
  },
  { id: "state", title: common.common.state, width: "1.2fr", cell: (instance) => <TermState instance={instance} /> },
]

const ENDING_DAYS = 30

/** The filter of the term as a range of end dates. */
const rangeOf = (term: string): { readonly endsAfter?: string; readonly endsBefore?: string } => {
  const hour = thisHour()
  if (term === "ended") return { endsBefore: hour }
  return term === "ending" ? { endsAfter: hour, endsBefore: plusDays(hour, ENDING_DAYS) } : {}
}

export const Page = () => {
  const [{ create = "", customer = "", license = "", q = "", term = "", zone = "" }, setUrl] = useUrl()
  const navigate = useNavigate()
  const rows = useRows("GET /api/instances", { query: { q, customer, license, zone, ...rangeOf(term) } })
  const mayWrite = useCan("write:instances")
  const isFiltered = [q, customer, license, zone, term].some((text) => text !== "")
  return (
    <RecordList
      unit="instance"
      texts={t}
      columns={columns}
      rows={rows}
      mayWrite={mayWrite}
      isCreating={create !== ""}
      form={(close) => (
        <CreateInstance
          customer={create}
          onClose={() => {
            close()
            // The page of the customer opened this form.
            if (create === "") setUrl({ create: undefined })
            else void navigate({ to: "/customers/$slug", params: { slug: create } })
          }}
          onCreated={(slug) => void navigate({ to: "/instances/$slug", params: { slug } })}
        />
      )}
      isFiltered={isFiltered}
    >
      <FilterField label={common.common.filterByName} name="q" />
      <FilterField label={t.customer} name="customer" />
      <FilterField label={t.license} name="license" />
      <FilterSelect
        label={t.filters.term}
        name="term"
        choices={[
          { id: "ending", title: t.filters.ending },
          { id: "ended", title: t.filters.ended },
        ]}
      />
    </RecordList>
  )
}
