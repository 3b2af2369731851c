/** The list of instances. */
import { useNavigate } from "@tanstack/react-router"
import { Plus } from "lucide-react"
import { useCallback, useState } from "react"
import type { Instance } from "../kernel/Contract.ts"
import { formatBoundary, plusDays, thisHour } from "../kernel/Formats.ts"
import { useRows } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { t as common } from "../kernel/texts.en.ts"
import { useUrl } from "../kernel/Url.ts"
import { Button } from "../widgets/Button.tsx"
import { DataTable } from "../widgets/DataTable.tsx"
import type { Column } from "../widgets/DataTable.tsx"
import { nameColumn } from "../widgets/records/Columns.tsx"
import { FilterField } from "../widgets/forms/FilterField.tsx"
import { SelectField } from "../widgets/forms/Fields.tsx"
import { PageHead } from "../widgets/Page.tsx"
import { RecordLink } from "../widgets/records/Links.tsx"
import { EmptyList, ReadOnly } from "../widgets/States.tsx"
import { InstanceForm } from "./InstanceForm.tsx"
import { TermState } from "./Term.tsx"
import { t } from "./texts.en.ts"

const columns: ReadonlyArray<Column<Instance>> = [
  nameColumn("instance", "2.5fr"),
  {
    id: "customer",
    title: t.customer,
    width: "1.5fr",
    cell: ({ customerSlug }) => <RecordLink kind="customer" slug={customerSlug} />,
  },
  {
    id: "license",
    title: t.license,
    width: "1.2fr",
    cell: ({ licenseSlug }) => <RecordLink kind="license" slug={licenseSlug} />,
  },
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
  const [isCreating, setCreating] = useState(create !== "")
  const mayWrite = useCan("write:instances")
  const setQ = useCallback((text: string) => setUrl({ q: text }), [setUrl])
  const setCustomer = useCallback((text: string) => setUrl({ customer: text }), [setUrl])
  const setLicense = useCallback((text: string) => setUrl({ license: text }), [setUrl])
  const close = () => {
    setCreating(false)
    setUrl({ create: undefined })
  }
  const button = mayWrite && (
    <Button look="primary" icon={<Plus aria-hidden size={16} />} onPress={() => setCreating(true)}>
      {t.create}
    </Button>
  )
  const isFiltered = [q, customer, license, zone, term].some((text) => text !== "")
  return (
    <>
      <PageHead title={t.title} actions={button} />
      {!mayWrite && <ReadOnly />}
      <div className="filters">
        <FilterField label={common.common.filterByName} value={q} onChange={setQ} />
        <FilterField label={t.customer} value={customer} onChange={setCustomer} />
        <FilterField label={t.license} value={license} onChange={setLicense} />
        <SelectField
          label={t.filters.term}
          value={term}
          onChange={(id) => setUrl({ term: id })}
          choices={[
            { id: "", title: common.common.all },
            { id: "ending", title: t.filters.ending },
            { id: "ended", title: t.filters.ended },
          ]}
        />
      </div>
      <DataTable
        label={t.title}
        columns={columns}
        rows={rows}
        rowKey={({ id }) => id}
        empty={
          <EmptyList isFiltered={isFiltered} title={t.empty} action={button}>
            {t.emptyDetail}
          </EmptyList>
        }
      />
      {isCreating && (
        <InstanceForm
          customer={create}
          onClose={close}
          onSaved={(slug) => void navigate({ to: "/instances/$slug", params: { slug } })}
        />
      )}
    </>
  )
}
