/** The organizations of the installation. */
import { Link, useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import type { Organization } from "../kernel/Contract.ts"
import { useRows } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { t as common } from "../kernel/texts.en.ts"
import { useUrl } from "../kernel/Url.ts"
import { CreateButton } from "../widgets/Button.tsx"
import { DataTable } from "../widgets/DataTable.tsx"
import type { Column } from "../widgets/DataTable.tsx"
import { Notice, PageHead } from "../widgets/Page.tsx"
import { createdColumn } from "../widgets/records/Columns.tsx"
import { Empty, ReadOnly } from "../widgets/States.tsx"
import { CreateOrganization } from "./OrganizationForms.tsx"
import { t } from "./texts.en.ts"

const columns: ReadonlyArray<Column<Organization>> = [
  {
    id: "name",
    title: common.common.name,
    width: "2fr",
    cell: ({ id, name, slug }) => (
      <>
        <Link to="/organizations/$id" params={{ id }}>
          {name}
        </Link>
        <span className="sub">{slug}</span>
      </>
    ),
  },
  { id: "external", title: t.externalId, width: "1.5fr", cell: ({ externalId }) => externalId },
  createdColumn,
]

export const Page = () => {
  const [{ removed }] = useUrl()
  const navigate = useNavigate()
  const rows = useRows("GET /api/platform/organizations", {})
  const mayWrite = useCan("write:organizations")
  const [isCreating, setCreating] = useState(false)
  const create = mayWrite && <CreateButton onPress={() => setCreating(true)}>{t.create}</CreateButton>
  const isEmpty = rows.rows?.length === 0
  return (
    <>
      <PageHead title={t.organizations} actions={isEmpty ? undefined : create} />
      {!mayWrite && <ReadOnly />}
      {removed !== undefined && <Notice title={t.removed(removed)}>{t.removedDetail}</Notice>}
      <DataTable
        label={t.organizations}
        unit="organization"
        columns={columns}
        rows={rows}
        rowKey={({ id }) => id}
        empty={
          <Empty title={t.empty} action={create}>
            {t.emptyDetail}
          </Empty>
        }
      />
      {isCreating && (
        <CreateOrganization
          onClose={() => setCreating(false)}
          onCreated={(id) => void navigate({ to: "/organizations/$id", params: { id } })}
        />
      )}
    </>
  )
}
