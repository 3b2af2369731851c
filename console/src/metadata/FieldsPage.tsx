/** The list of metadata fields. */
import { useNavigate } from "@tanstack/react-router"
import { Plus } from "lucide-react"
import { useState } from "react"
import type { MetadataField } from "../kernel/Contract.ts"
import { defined, useRows } from "../kernel/Queries.ts"
import { useCan, useIsAdmin } from "../kernel/Scopes.ts"
import { t as common } from "../kernel/texts.en.ts"
import { useUrl } from "../kernel/Url.ts"
import { Button } from "../widgets/Button.tsx"
import { DataTable } from "../widgets/DataTable.tsx"
import type { Column } from "../widgets/DataTable.tsx"
import { SelectField } from "../widgets/forms/Fields.tsx"
import { PageHead } from "../widgets/Page.tsx"
import { updatedColumn } from "../widgets/records/Columns.tsx"
import { RecordLink } from "../widgets/records/Links.tsx"
import { EmptyList, ReadOnly } from "../widgets/States.tsx"
import { Tag } from "../widgets/Tag.tsx"
import { CreateField, resourceTypes } from "./FieldForm.tsx"
import { t } from "./texts.en.ts"

const columns: ReadonlyArray<Column<MetadataField>> = [
  {
    id: "label",
    title: t.label,
    width: "2fr",
    cell: ({ id, key, label }) => (
      <>
        <RecordLink kind="metadataField" slug={id}>
          {label}
        </RecordLink>
        <span className="sub">{key}</span>
      </>
    ),
  },
  { id: "type", title: t.resourceType, width: "1fr", cell: ({ resourceType }) => t.types[resourceType] },
  { id: "order", title: t.order, width: "80px", isNumber: true, cell: ({ displayOrder }) => displayOrder },
  {
    id: "state",
    title: common.common.state,
    width: "1fr",
    cell: ({ archivedAt }) =>
      archivedAt === undefined ? <Tag tone="ok">{t.active}</Tag> : <Tag tone="muted">{t.archived}</Tag>,
  },
  updatedColumn,
]

export const Page = () => {
  const [{ type = "" }, setUrl] = useUrl()
  const navigate = useNavigate()
  const resourceType = resourceTypes.find((one) => one === type)
  const rows = useRows("GET /api/metadata-fields", { query: defined({ resourceType }) })
  const [isCreating, setCreating] = useState(false)
  const holdsWrite = useCan("write:metadata_fields")
  const isAdmin = useIsAdmin()
  const create = holdsWrite && isAdmin && (
    <Button look="primary" icon={<Plus aria-hidden size={16} />} onPress={() => setCreating(true)}>
      {t.create}
    </Button>
  )
  return (
    <>
      <PageHead title={t.title} actions={create} />
      {!holdsWrite && <ReadOnly />}
      {holdsWrite && !isAdmin && <p className="read-only">{t.adminsOnly}</p>}
      <div className="filters">
        <SelectField
          label={t.resourceType}
          value={resourceType ?? ""}
          onChange={(id) => setUrl({ type: id })}
          choices={[{ id: "", title: t.allTypes }, ...resourceTypes.map((id) => ({ id, title: t.types[id] }))]}
        />
      </div>
      <DataTable
        label={t.title}
        columns={columns}
        rows={rows}
        rowKey={({ id }) => id}
        empty={
          <EmptyList isFiltered={resourceType !== undefined} title={t.empty} action={create}>
            {t.emptyDetail}
          </EmptyList>
        }
      />
      {isCreating && (
        <CreateField
          onClose={() => setCreating(false)}
          onCreated={(id) => void navigate({ to: "/metadata-fields/$slug", params: { slug: id } })}
        />
      )}
    </>
  )
}
