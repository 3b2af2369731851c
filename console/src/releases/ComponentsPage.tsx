/** The list of components: each is one version of a part of the product. */
import { useNavigate } from "@tanstack/react-router"
import { Plus } from "lucide-react"
import { useCallback, useState } from "react"
import { useMatching, useRows } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { t as common } from "../kernel/texts.en.ts"
import { useUrl } from "../kernel/Url.ts"
import { Button } from "../widgets/Button.tsx"
import { DataTable } from "../widgets/DataTable.tsx"
import { FilterField } from "../widgets/forms/FilterField.tsx"
import { PageHead } from "../widgets/Page.tsx"
import { createdColumn } from "../widgets/records/Columns.tsx"
import { EmptyList, ReadOnly } from "../widgets/States.tsx"
import { componentColumn, descriptionColumn } from "./Columns.tsx"
import { ComponentForm } from "./ComponentForm.tsx"
import { includes, nameOf } from "./Lists.ts"
import { t } from "./texts.en.ts"

export const Page = () => {
  const [{ q = "" }, setUrl] = useUrl()
  const navigate = useNavigate()
  const rows = useMatching(
    useRows("GET /api/components", {}),
    q === "" ? undefined : (component) => includes(q, nameOf(component), component.slug),
  )
  const [isCreating, setCreating] = useState(false)
  const mayWrite = useCan("write:components")
  const setQ = useCallback((text: string) => setUrl({ q: text }), [setUrl])
  const create = mayWrite && (
    <Button look="primary" icon={<Plus aria-hidden size={16} />} onPress={() => setCreating(true)}>
      {t.createComponent}
    </Button>
  )
  return (
    <>
      <PageHead title={t.components} actions={create} />
      {!mayWrite && <ReadOnly />}
      <div className="filters">
        <FilterField label={common.common.filterByName} value={q} onChange={setQ} />
      </div>
      <DataTable
        label={t.components}
        columns={[componentColumn, descriptionColumn, createdColumn]}
        rows={rows}
        rowKey={({ id }) => id}
        empty={
          <EmptyList isFiltered={q !== ""} title={t.noComponents} action={create}>
            {t.noComponentsDetail}
          </EmptyList>
        }
      />
      {isCreating && (
        <ComponentForm
          onClose={() => setCreating(false)}
          onCreated={(slug) => void navigate({ to: "/components/$slug", params: { slug } })}
        />
      )}
    </>
  )
}
