/** The lists of license versions and of families. */
import { useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import type { ReactNode } from "react"
import type { License, LicenseFamily } from "../kernel/Contract.ts"
import { defined, useRows } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { t as common } from "../kernel/texts.en.ts"
import { useUrl } from "../kernel/Url.ts"
import { CreateButton } from "../widgets/Button.tsx"
import { DataTable } from "../widgets/DataTable.tsx"
import type { Column } from "../widgets/DataTable.tsx"
import { nameColumn, updatedColumn } from "../widgets/records/Columns.tsx"
import { FilterField, FilterSelect } from "../widgets/forms/FilterField.tsx"
import { PageHead } from "../widgets/Page.tsx"
import { ListLink, RecordLink } from "../widgets/records/Links.tsx"
import { Empty, EmptyList, ReadOnly } from "../widgets/States.tsx"
import { Tabs } from "../widgets/Tabs.tsx"
import { Moment, Tag } from "../widgets/Tag.tsx"
import { CreateLicense } from "./LicenseForm.tsx"
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
  { id: "type", title: t.type, width: "1fr", cell: ({ type }) => t.types[type] },
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

const Versions = ({ create }: { readonly create: ReactNode }) => {
  const [{ entitlement = "", family = "", q = "", state = "" }] = useUrl()
  const chosen = states.find((one) => one === state)
  const rows = useRows("GET /api/licenses", { query: defined({ q, family, entitlement, lifecycleState: chosen }) })
  const isFiltered = [q, family, entitlement, chosen ?? ""].some((text) => text !== "")
  return (
    <>
      <div className="filters">
        <FilterField label={common.common.filterByName} name="q" />
        <FilterField label={t.family} name="family" />
        <FilterField label={t.entitlementFilter} name="entitlement" />
        <FilterSelect
          label={common.common.state}
          name="state"
          choices={states.map((id) => ({ id, title: t.states[id] }))}
        />
      </div>
      <DataTable
        label={t.title}
        unit="license"
        columns={columns}
        rows={rows}
        rowKey={({ id }) => id}
        empty={
          <EmptyList isFiltered={isFiltered} title={t.empty} action={create}>
            {t.emptyDetail}
          </EmptyList>
        }
      />
    </>
  )
}

const familyColumns: ReadonlyArray<Column<LicenseFamily>> = [
  {
    id: "slug",
    title: t.family,
    width: "2fr",
    cell: ({ slug }) => (
      <ListLink to="/licenses" search={{ family: slug }}>
        {slug}
      </ListLink>
    ),
  },
  {
    id: "current",
    title: t.currentVersion,
    width: "2fr",
    cell: ({ currentVersion }) =>
      currentVersion === null ? (
        <span className="muted">{t.noCurrent}</span>
      ) : (
        <>
          <RecordLink kind="license" slug={currentVersion.slug}>
            {`${currentVersion.name} v${currentVersion.version}`}
          </RecordLink>
          <span className="sub">{currentVersion.slug}</span>
        </>
      ),
  },
  {
    id: "default",
    title: t.isDefault,
    width: "1fr",
    cell: ({ currentVersion }) => (currentVersion?.isDefault === true ? <Tag tone="ok">{t.isDefault}</Tag> : null),
  },
  {
    id: "created",
    title: common.common.created,
    width: "1fr",
    cell: ({ createdAt }) => <Moment at={createdAt} relative />,
  },
]

const Families = ({ create }: { readonly create: ReactNode }) => {
  const rows = useRows("GET /api/license-families", {})
  return (
    <DataTable
      label={t.tabsOfList.families}
      unit="family"
      columns={familyColumns}
      rows={rows}
      rowKey={({ id }) => id}
      empty={
        <Empty title={t.noFamilies} action={create}>
          {t.noFamiliesDetail}
        </Empty>
      }
    />
  )
}

export const Page = () => {
  const navigate = useNavigate()
  const [isCreating, setCreating] = useState(false)
  const mayWrite = useCan("write:licenses")
  const create = mayWrite && <CreateButton onPress={() => setCreating(true)}>{t.create}</CreateButton>
  return (
    <>
      <PageHead title={t.title} actions={create} />
      {!mayWrite && <ReadOnly />}
      <Tabs
        label={t.title}
        items={[
          { id: "versions", title: t.tabsOfList.versions, content: () => <Versions create={create} /> },
          { id: "families", title: t.tabsOfList.families, content: () => <Families create={create} /> },
        ]}
      />
      {isCreating && (
        <CreateLicense
          onClose={() => setCreating(false)}
          onCreated={(slug) => void navigate({ to: "/licenses/$slug", params: { slug } })}
        />
      )}
    </>
  )
}
