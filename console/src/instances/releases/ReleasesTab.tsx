/** Which releases an instance may have, and why not the others. */
import { useState } from "react"
import type { InstanceRelease } from "../../kernel/Contract.ts"
import { useRows } from "../../kernel/Queries.ts"
import { useCan } from "../../kernel/Scopes.ts"
import { DataTable } from "../../widgets/DataTable.tsx"
import type { Column } from "../../widgets/DataTable.tsx"
import { Segments } from "../../widgets/forms/Fields.tsx"
import { RecordLink } from "../../widgets/records/Links.tsx"
import { Empty, NotAllowed } from "../../widgets/States.tsx"
import { Moment, Tag } from "../../widgets/Tag.tsx"
import { t } from "../texts.en.ts"

const columns: ReadonlyArray<Column<InstanceRelease>> = [
  {
    id: "release",
    title: t.releases.release,
    width: "1fr",
    cell: ({ release: { slug, version } }) => (
      <RecordLink kind="release" slug={slug}>
        {version}
      </RecordLink>
    ),
  },
  {
    id: "released",
    title: t.releases.released,
    width: "1fr",
    cell: ({ release: { releasedAt } }) => <Moment at={releasedAt} />,
  },
  {
    id: "allowed",
    title: t.releases.allowed,
    width: "1fr",
    cell: ({ allowed, reason }) => (
      <Tag tone={!allowed ? "danger" : reason === "IN_GRACE" ? "warn" : "ok"}>{t.releases.reasons[reason]}</Tag>
    ),
  },
  { id: "explanation", title: t.releases.why, width: "3fr", cell: ({ explanation }) => explanation },
]

type Shown = "any" | "true" | "false"

export const ReleasesTab = ({ instanceSlug }: { readonly instanceSlug: string }) => {
  const mayRead = useCan("read:releases")
  const [allowed, setAllowed] = useState<Shown>("any")
  const rows = useRows(
    "GET /api/instances/:instanceSlug/releases",
    { params: { instanceSlug }, query: { allowed } },
    { when: mayRead },
  )
  if (!mayRead) return <NotAllowed scope="read:releases" />
  return (
    <>
      <div className="tab-tools">
        <Segments
          label={t.releases.show}
          value={allowed}
          onChange={(next) => setAllowed(next as Shown)}
          choices={(["any", "true", "false"] as const).map((id) => ({ id, title: t.releases.shown[id] }))}
        />
      </div>
      <DataTable
        label={t.tabs.releases}
        columns={columns}
        rows={rows}
        rowKey={({ release: { slug } }) => slug}
        empty={<Empty title={t.releases.empty[allowed]}>{t.releases.emptyDetail}</Empty>}
      />
    </>
  )
}
