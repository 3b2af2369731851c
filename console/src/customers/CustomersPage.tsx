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
import { FilterField } from "../widgets/forms/FilterField.tsx"
import { PageHead } from "../widgets/Page.tsx"
import { RecordLink } from "../widgets/records/Links.tsx"
import { Empty, ReadOnly } from "../widgets/States.tsx"
import { Moment, Tag } from "../widgets/Tag.tsx"
import { CreateCustomer } from "./CustomerForm.tsx"
import { t } from "./texts.en.ts"

const columns: ReadonlyArray<Column<Customer>> = [
  {
    id: "name",
    title: common.common.name,
    width: "2.5fr",
    cell: ({ name, slug }) => (
      <>
        <RecordLink kind="customer" slug={slug}>
          {name}
        </RecordLink>
        <span className="sub">{slug}</span>
      </>
    ),
  },
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
  {
    id: "updated",
    title: common.common.updated,
    width: "110px",
    cell: ({ updatedAt }) => <Moment at={updatedAt} relative />,
  },
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
          isFiltered ? (
            <Empty title={common.states.noMatch}>{common.states.noMatchDetail}</Empty>
          ) : (
            <Empty title={t.empty} action={create}>
              {t.emptyDetail}
            </Empty>
          )
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
