/** The list of components: each is one version of a part of the product. */
import { useNavigate } from "@tanstack/react-router"
import { useMatching, useRows } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { t as common } from "../kernel/texts.en.ts"
import { useUrl } from "../kernel/Url.ts"
import { RecordList } from "../widgets/records/RecordList.tsx"
import { FilterField } from "../widgets/forms/FilterField.tsx"
import { createdColumn } from "../widgets/records/Columns.tsx"
import { componentColumn, descriptionColumn } from "./Columns.tsx"
import { ComponentForm } from "./ComponentForm.tsx"
import { includes, nameOf } from "./Lists.ts"
import { t } from "./texts.en.ts"

export const Page = () => {
  const [{ q = "" }] = useUrl()
  const navigate = useNavigate()
  const rows = useMatching(
    useRows("GET /api/components", {}),
    q === "" ? undefined : (component) => includes(q, nameOf(component), component.slug),
  )
  const mayWrite = useCan("write:components")
  return (
    <RecordList
      unit="component"
      texts={{
        title: t.components,
        create: t.createComponent,
        empty: t.noComponents,
        emptyDetail: t.noComponentsDetail,
      }}
      columns={[componentColumn, descriptionColumn, createdColumn]}
      rows={rows}
      mayWrite={mayWrite}
      form={(close) => (
        <ComponentForm
          onClose={close}
          onCreated={(slug) => void navigate({ to: "/components/$slug", params: { slug } })}
        />
      )}
      isFiltered={q !== ""}
    >
      <FilterField label={common.common.filterByName} name="q" />
    </RecordList>
  )
}
