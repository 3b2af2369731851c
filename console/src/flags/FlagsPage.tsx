/** The list of feature flags. */
import { useNavigate } from "@tanstack/react-router"
import type { FeatureFlag } from "../kernel/Contract.ts"
import { useMatching, useRows } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { t as common } from "../kernel/texts.en.ts"
import { useUrl } from "../kernel/Url.ts"
import type { Column } from "../widgets/DataTable.tsx"
import { RecordList } from "../widgets/records/RecordList.tsx"
import { FilterField, FilterSelect } from "../widgets/forms/FilterField.tsx"
import { updatedColumn } from "../widgets/records/Columns.tsx"
import { RecordLink } from "../widgets/records/Links.tsx"
import { CreateFlag } from "./FlagForm.tsx"
import { FlagState } from "./FlagState.tsx"
import { t } from "./texts.en.ts"

const columns: ReadonlyArray<Column<FeatureFlag>> = [
  {
    id: "name",
    title: common.common.name,
    width: "2.5fr",
    cell: ({ key, name }) => (
      <>
        <RecordLink kind="flag" slug={key}>
          {name}
        </RecordLink>
        <span className="sub">{key}</span>
      </>
    ),
  },
  { id: "state", title: common.common.state, width: "1fr", cell: ({ enabled }) => <FlagState isOn={enabled} /> },
  { id: "type", title: t.type, width: "1fr", cell: ({ type }) => t.types[type] },
  { id: "default", title: t.defaultVariant, width: "1.2fr", cell: ({ defaultVariant }) => defaultVariant },
  {
    id: "targetings",
    title: t.targetings,
    width: "1fr",
    isNumber: true,
    cell: ({ targetings }) => t.targetingCount(targetings.length),
  },
  updatedColumn,
]

/** Whether a flag has the text in its name or its key, and the state. */
const matching =
  (q: string, state: string) =>
  ({ enabled, key, name }: FeatureFlag): boolean => {
    const text = q.trim().toLowerCase()
    const isState = state === "" || enabled === (state === "on")
    return isState && (name.toLowerCase().includes(text) || key.toLowerCase().includes(text))
  }

export const Page = () => {
  const [{ q = "", state = "" }] = useUrl()
  const navigate = useNavigate()
  const isFiltered = q !== "" || state !== ""
  const rows = useMatching(useRows("GET /api/feature-flags", {}), isFiltered ? matching(q, state) : undefined)
  const mayWrite = useCan("write:feature_flags")
  return (
    <RecordList
      unit="flag"
      texts={t}
      columns={columns}
      rows={rows}
      mayWrite={mayWrite}
      form={(close) => (
        <CreateFlag onClose={close} onCreated={(key) => void navigate({ to: "/flags/$slug", params: { slug: key } })} />
      )}
      isFiltered={isFiltered}
    >
      <FilterField label={t.filter} name="q" />
      <FilterSelect
        label={common.common.state}
        name="state"
        choices={[
          { id: "on", title: t.on },
          { id: "off", title: t.off },
        ]}
      />
    </RecordList>
  )
}
