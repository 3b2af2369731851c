/** The list of license migrations, with their progress. */
import type { Migration } from "../kernel/Contract.ts"
import { useRows } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { t as common } from "../kernel/texts.en.ts"
import { DataTable } from "../widgets/DataTable.tsx"
import type { Column } from "../widgets/DataTable.tsx"
import { PageHead } from "../widgets/Page.tsx"
import { ListLink, RecordLink } from "../widgets/records/Links.tsx"
import { Empty, ReadOnly } from "../widgets/States.tsx"
import { Moment } from "../widgets/Tag.tsx"
import { intervalOf, MigrationProgress, StateTag } from "./MigrationState.tsx"
import { t } from "./texts.en.ts"

const columns: ReadonlyArray<Column<Migration>> = [
  {
    id: "name",
    title: t.migration,
    width: "2fr",
    cell: ({ from, id, to }) => (
      <RecordLink kind="migration" slug={id}>
        {t.titleOf(from, to)}
      </RecordLink>
    ),
  },
  { id: "state", title: common.common.state, width: "1fr", cell: ({ state }) => <StateTag state={state} /> },
  {
    id: "progress",
    title: t.progress,
    width: "2fr",
    cell: ({ counts }) => (
      <div>
        <MigrationProgress counts={counts} />
      </div>
    ),
  },
  { id: "at", title: t.at, width: "1.5fr", cell: ({ at }) => <Moment at={at} /> },
  { id: "by", title: t.by, width: "1fr", cell: ({ createdBy }) => createdBy.name },
]

/** The shortest interval of those that move. */
const soonest = (migrations: ReadonlyArray<Migration> = []): number | false =>
  migrations.map(intervalOf).find((every) => every !== false) ?? false

export const Page = () => {
  const rows = useRows("GET /api/license-migrations", {}, { refetchInterval: soonest })
  const mayWrite = useCan("write:licenses")
  return (
    <>
      <PageHead title={t.title} />
      {!mayWrite && <ReadOnly />}
      <DataTable
        label={t.title}
        unit="migration"
        columns={columns}
        rows={rows}
        rowKey={({ id }) => id}
        empty={
          <Empty
            title={t.empty}
            action={
              <ListLink to="/licenses" className="button">
                {t.toLicenses}
              </ListLink>
            }
          >
            {t.emptyDetail}
          </Empty>
        }
      />
    </>
  )
}
