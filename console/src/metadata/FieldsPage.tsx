/** The list of metadata fields. */
import { useNavigate } from "@tanstack/react-router"
import type { MetadataField } from "../kernel/Contract.ts"
import { defined, useRows } from "../kernel/Queries.ts"
import { useCan, useIsAdmin } from "../kernel/Scopes.ts"
import { t as common } from "../kernel/texts.en.ts"
import { useUrl } from "../kernel/Url.ts"
import type { Column } from "../widgets/DataTable.tsx"
import { FilterSelect } from "../widgets/forms/FilterField.tsx"
import { RecordList } from "../widgets/records/RecordList.tsx"
import { updatedColumn } from "../widgets/records/Columns.tsx"
import { RecordLink } from "../widgets/records/Links.tsx"
import { ReadOnly } from "../widgets/States.tsx"
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
  const [{ type = "" }] = useUrl()
  const navigate = useNavigate()
  const resourceType = resourceTypes.find((one) => one === type)
  const rows = useRows("GET /api/metadata-fields", { query: defined({ resourceType }) })
  const holdsWrite = useCan("write:metadata_fields")
  const isAdmin = useIsAdmin()
  return (
    <RecordList
      unit="field"
      texts={t}
      columns={columns}
      rows={rows}
      mayWrite={holdsWrite && isAdmin}
      note={holdsWrite ? !isAdmin && <p className="read-only">{t.adminsOnly}</p> : <ReadOnly />}
      form={(close) => (
        <CreateField
          onClose={close}
          onCreated={(id) => void navigate({ to: "/metadata-fields/$slug", params: { slug: id } })}
        />
      )}
      isFiltered={resourceType !== undefined}
    >
      <FilterSelect
        label={t.resourceType}
        name="type"
        all={t.allTypes}
        choices={resourceTypes.map((id) => ({ id, title: t.types[id] }))}
      />
    </RecordList>
  )
}
