/** The list of customers. */
import { useNavigate } from "@tanstack/react-router"
import type { Customer } from "../kernel/Contract.ts"
import { useRows } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { t as common } from "../kernel/texts.en.ts"
import { useUrl } from "../kernel/Url.ts"
import type { Column } from "../widgets/DataTable.tsx"
import { nameColumn, updatedColumn } from "../widgets/records/Columns.tsx"
import { RecordList } from "../widgets/records/RecordList.tsx"
import { FilterField } from "../widgets/forms/FilterField.tsx"
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
  const [{ domain = "", q = "" }] = useUrl()
  const navigate = useNavigate()
  const rows = useRows("GET /api/customers", { query: { q, domain } })
  const mayWrite = useCan("write:customers")
  const isFiltered = q !== "" || domain !== ""
  return (
    <RecordList
      unit="customer"
      texts={t}
      columns={columns}
      rows={rows}
      mayWrite={mayWrite}
      form={(close) => (
        <CreateCustomer
          onClose={close}
          onCreated={(slug) => void navigate({ to: "/customers/$slug", params: { slug } })}
        />
      )}
      isFiltered={isFiltered}
    >
      <FilterField label={common.common.filterByName} name="q" />
      <FilterField label={t.domain} name="domain" />
    </RecordList>
  )
}
