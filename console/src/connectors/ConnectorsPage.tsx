/** The connectors of the installation, and which of them the organization may use and uses. */
import type { ConnectorState } from "../kernel/Contract.ts"
import { connectorTitle } from "../kernel/Formats.ts"
import { useRows } from "../kernel/Queries.ts"
import { DataTable } from "../widgets/DataTable.tsx"
import type { Column } from "../widgets/DataTable.tsx"
import { PageHead } from "../widgets/Page.tsx"
import { NamedLink } from "../widgets/records/Columns.tsx"
import { Empty } from "../widgets/States.tsx"
import { YesNo } from "./YesNo.tsx"
import { t } from "./texts.en.ts"

const columns: ReadonlyArray<Column<ConnectorState>> = [
  {
    id: "name",
    title: t.name,
    width: "3fr",
    cell: ({ connectorName: name }) => <NamedLink kind="connector" slug={name} name={connectorTitle(name)} />,
  },
  { id: "available", title: t.available, width: "1fr", cell: ({ available }) => <YesNo is={available} /> },
  { id: "entitled", title: t.entitled, width: "1fr", cell: ({ entitled }) => <YesNo is={entitled} /> },
  { id: "activated", title: t.activated, width: "1fr", cell: ({ activated }) => <YesNo is={activated} /> },
  { id: "version", title: t.version, width: "1fr", cell: ({ version }) => version },
]

export const Page = () => {
  const rows = useRows("GET /api/connectors", {})
  return (
    <>
      <PageHead title={t.title} />
      <DataTable
        label={t.title}
        unit="connector"
        columns={columns}
        rows={rows}
        rowKey={({ connectorName }) => connectorName}
        empty={<Empty title={t.empty}>{t.emptyDetail}</Empty>}
      />
    </>
  )
}
