/** The list of customers. */
import { useNavigate } from "@tanstack/react-router"
import { Plus } from "lucide-react"
import { useCallback, useState } from "react"
import type { Customer } from "../kernel/Contract.ts"
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
import { EmptyList, ReadOnly } from "../widgets/States.tsx"
import { Tag } from "../widgets/Tag.tsx"
import { CreateCustomer } from "./CustomerForm.tsx"
import { t } from "./texts.en.ts"

const columns: ReadonlyArray<Column<Customer>> = [
  nameColumn("customer", "2.5fr"),
  { id: "domain", title: t.domain, width: "1.5fr", cell: ({ domain }) => domain },
  { id: "external", title: t.externalId, width: "1.5fr", cell: ({ externalCustomerId }) => externalCustomerId },
  {
    id: "integrations",
    title: t.integrations,
    width: "1.5fr",
    cell: ({ integrations }) => (
      <span className="tags">
        {Object.entries(integrations).map(([name, { last_error: error }]) => (
          <Tag key={name} tone={error === null || error === "" ? "ok" : "danger"}>
            {error === null || error === "" ? name : t.failing(name)}
          </Tag>
        ))}
      </span>
    ),
  },
  updatedColumn,
]

export const Page = () => {
  const [{ domain = "", q = "" }, setUrl] = useUrl()
  const navigate = useNavigate()
  const rows = useRows("GET /api/customers", { query: { q, domain } })
  const [isCreating, setCreating] = useState(false)
  const mayWrite = useCan("write:customers")
  const setQ = useCallback((text: string) => setUrl({ q: text }), [setUrl])
  const setDomain = useCallback((text: string) => setUrl({ domain: text }), [setUrl])
  const create = mayWrite && (
    <Button look="primary" icon={<Plus aria-hidden size={16} />} onPress={() => setCreating(true)}>
      {t.create}
    </Button>
  )
  const isFiltered = q !== "" || domain !== ""
  return (
    <>
      <PageHead title={t.title} actions={create} />
      {!mayWrite && <ReadOnly />}
      <div className="filters">
        <FilterField label={common.common.filterByName} value={q} onChange={setQ} />
        <FilterField label={t.domain} value={domain} onChange={setDomain} />
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
        <CreateCustomer
          onClose={() => setCreating(false)}
          onCreated={(slug) => void navigate({ to: "/customers/$slug", params: { slug } })}
        />
      )}
    </>
  )
}
