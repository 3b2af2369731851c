/** Columns that lists of several features have. */
import type { Actor } from "../../kernel/Contract.ts"
import { t as common } from "../../kernel/texts.en.ts"
import type { Column } from "../DataTable.tsx"
import { Moment } from "../Tag.tsx"
import { RecordLink } from "./Links.tsx"
import type { RecordKind } from "./Links.tsx"

interface Named {
  readonly name: string
  readonly slug: string
}

/** The name of a row's record as a link, and its slug below. */
export const nameColumn = <T extends Named>(
  kind: RecordKind,
  width: string,
  textOf: (row: T) => string = ({ name }) => name,
): Column<T> => ({
  id: "name",
  title: common.common.name,
  width,
  cell: (row) => (
    <>
      <RecordLink kind={kind} slug={row.slug}>
        {textOf(row)}
      </RecordLink>
      <span className="sub">{row.slug}</span>
    </>
  ),
})

/** When a row's record changed last. */
export const updatedColumn: Column<{ readonly updatedAt: string }> = {
  id: "updated",
  title: common.common.updated,
  width: "110px",
  cell: ({ updatedAt }) => <Moment at={updatedAt} relative />,
}

/** When a row's record was created, and by whom. */
export const createdColumn: Column<{ readonly createdAt: string; readonly createdBy: Actor }> = {
  id: "created",
  title: common.common.created,
  width: "1.5fr",
  cell: ({ createdAt, createdBy }) => (
    <>
      <Moment at={createdAt} relative />
      <span className="sub">{common.common.by(createdBy.name)}</span>
    </>
  ),
}
