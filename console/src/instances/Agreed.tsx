/** Columns of what an instance has beside its license for a time: add-ons and overrides. */
import type { AddOn, Override } from "../kernel/Contract.ts"
import { formatBoundary } from "../kernel/Formats.ts"
import { t as common } from "../kernel/texts.en.ts"
import type { Column } from "../widgets/DataTable.tsx"
import { Moment, Tag } from "../widgets/Tag.tsx"
import { t } from "./texts.en.ts"

type Agreed = AddOn | Override

/** Whether it has ended, or was removed. */
export const isOver = ({ endedAt, endsAt }: Agreed): boolean =>
  endedAt !== null || (endsAt !== null && Date.parse(endsAt) <= Date.now())

const State = ({ agreed }: { readonly agreed: Agreed }) => {
  if (isOver(agreed)) return <Tag tone="muted">{t.overrides.ended}</Tag>
  return Date.parse(agreed.startsAt) > Date.now() ? (
    <Tag tone="waiting">{t.overrides.planned}</Tag>
  ) : (
    <Tag tone="ok">{t.overrides.current}</Tag>
  )
}

export const stateColumn: Column<Agreed> = {
  id: "state",
  title: common.common.state,
  width: "1fr",
  cell: (agreed) => <State agreed={agreed} />,
}

export const lastColumns: ReadonlyArray<Column<Agreed>> = [
  {
    id: "until",
    title: t.overrides.until,
    width: "1.5fr",
    cell: ({ endedAt, endsAt }) => {
      const end = endedAt ?? endsAt
      return end === null ? common.common.never : formatBoundary(end)
    },
  },
  {
    id: "by",
    title: t.overrides.by,
    width: "1.5fr",
    cell: ({ createdAt, createdBy }) => (
      <>
        {createdBy.name}
        <span className="sub">
          <Moment at={createdAt} relative />
        </span>
      </>
    ),
  },
  { id: "reason", title: t.overrides.reason, width: "2fr", cell: ({ reason }) => reason },
]
