/** The list of license versions. */
import { useCallback } from "react"
import type { License } from "../kernel/Contract.ts"
import { words } from "../kernel/Formats.ts"
import { defined, useRows } from "../kernel/Queries.ts"
import { t as common } from "../kernel/texts.en.ts"
import { useUrl } from "../kernel/Url.ts"
import { DataTable } from "../widgets/DataTable.tsx"
import type { Column } from "../widgets/DataTable.tsx"
import { nameColumn, updatedColumn } from "../widgets/records/Columns.tsx"
import { FilterField } from "../widgets/forms/FilterField.tsx"
import { SelectField } from "../widgets/forms/Fields.tsx"
import { PageHead } from "../widgets/Page.tsx"
import { ListLink } from "../widgets/records/Links.tsx"
import { EmptyList } from "../widgets/States.tsx"
import { Tag } from "../widgets/Tag.tsx"
import { LicenseState } from "./LicenseState.tsx"
import { t } from "./texts.en.ts"

const columns: ReadonlyArray<Column<License>> = [
  nameColumn("license", "2fr", ({ name, version }) => `${name} v${version}`),
  {
    id: "family",
    title: t.family,
    width: "1.5fr",
    cell: ({ familySlug }) => (
      <ListLink to="/licenses" search={{ family: familySlug }}>
        {familySlug}
      </ListLink>
    ),
  },
  { id: "type", title: t.type, width: "1fr", cell: ({ type }) => words(type) },
  {
    id: "state",
    title: common.common.state,
    width: "1fr",
    cell: ({ lifecycleState }) => <LicenseState state={lifecycleState} />,
  },
  {
    id: "default",
    title: t.isDefault,
    width: "1fr",
    cell: ({ isDefault }) => (isDefault ? <Tag tone="ok">{t.isDefault}</Tag> : null),
  },
  updatedColumn,
]

const states: ReadonlyArray<License["lifecycleState"]> = ["DRAFT", "PUBLISHED", "ARCHIVED"]

export const Page = () => {
  const [{ family = "", q = "", state = "" }, setUrl] = useUrl()
  const chosen = states.find((one) => one === state)
  const rows = useRows("GET /api/licenses", { query: defined({ q, family, lifecycleState: chosen }) })
  const setQ = useCallback((text: string) => setUrl({ q: text }), [setUrl])
  const setFamily = useCallback((text: string) => setUrl({ family: text }), [setUrl])
  const isFiltered = q !== "" || family !== "" || chosen !== undefined
  return (
    <>
      <PageHead title={t.title} />
      <div className="filters">
        <FilterField label={common.common.filterByName} value={q} onChange={setQ} />
        <FilterField label={t.family} value={family} onChange={setFamily} />
        <SelectField
          label={common.common.state}
          value={chosen ?? ""}
          onChange={(id) => setUrl({ state: id })}
          choices={[{ id: "", title: common.common.all }, ...states.map((id) => ({ id, title: t.states[id] }))]}
        />
      </div>
      <DataTable
        label={t.title}
        columns={columns}
        rows={rows}
        rowKey={({ id }) => id}
        empty={
          <EmptyList isFiltered={isFiltered} title={t.empty}>
            {t.emptyDetail}
          </EmptyList>
        }
      />
    </>
  )
}
