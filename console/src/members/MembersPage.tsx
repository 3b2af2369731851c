/** The people of the organization. The operator changes them. */
import type { Item } from "../kernel/Contract.ts"
import { words } from "../kernel/Formats.ts"
import { useRows } from "../kernel/Queries.ts"
import { DataTable } from "../widgets/DataTable.tsx"
import type { Column } from "../widgets/DataTable.tsx"
import { PageHead } from "../widgets/Page.tsx"
import { ListLink } from "../widgets/records/Links.tsx"
import { Empty } from "../widgets/States.tsx"
import { Moment } from "../widgets/Tag.tsx"
import { t } from "./texts.en.ts"

type Member = Item<"GET /api/members">

const columns: ReadonlyArray<Column<Member>> = [
  {
    id: "name",
    title: t.name,
    width: "2fr",
    cell: ({ user }) => (
      <>
        <ListLink to="/events" search={{ actor: user.id }}>
          {user.name}
        </ListLink>
        <span className="sub">{user.email}</span>
      </>
    ),
  },
  { id: "role", title: t.role, width: "1fr", cell: ({ role }) => words(role) },
  { id: "since", title: t.since, width: "1.5fr", cell: ({ createdAt }) => <Moment at={createdAt} /> },
]

export const Page = () => {
  const rows = useRows("GET /api/members", {})
  return (
    <>
      <PageHead title={t.title}>{t.hint}</PageHead>
      <DataTable
        label={t.title}
        unit="member"
        columns={columns}
        rows={rows}
        rowKey={({ user }) => user.id}
        empty={<Empty title={t.empty}>{t.emptyDetail}</Empty>}
      />
    </>
  )
}
