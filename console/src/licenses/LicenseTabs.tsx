/** The instances that hold a license version. */
import type { Instance } from "../kernel/Contract.ts"
import { useRows } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { DataTable } from "../widgets/DataTable.tsx"
import type { Column } from "../widgets/DataTable.tsx"
import { customerColumn } from "../widgets/records/Columns.tsx"
import { RecordLink } from "../widgets/records/Links.tsx"
import { Empty, NotAllowed } from "../widgets/States.tsx"
import { t } from "./texts.en.ts"

const holderColumns: ReadonlyArray<Column<Instance>> = [
  {
    id: "name",
    title: t.name,
    width: "2fr",
    cell: ({ name, slug }) => (
      <RecordLink kind="instance" slug={slug}>
        {name}
      </RecordLink>
    ),
  },
  customerColumn("1.5fr"),
]

export const Holders = ({ slug }: { readonly slug: string }) => {
  const isAllowed = useCan("read:instances")
  const rows = useRows("GET /api/instances", { query: { license: slug } }, { when: isAllowed })
  if (!isAllowed) return <NotAllowed scope="read:instances" />
  return (
    <DataTable
      label={t.tabs.instances}
      unit="instance"
      columns={holderColumns}
      rows={rows}
      rowKey={({ id }) => id}
      empty={<Empty title={t.noInstances} />}
    />
  )
}
