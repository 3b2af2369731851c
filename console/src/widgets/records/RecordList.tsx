/** A screen that lists records: its heading, the button that creates one, filters, and the text for an empty list. */
import { useState } from "react"
import type { ReactNode } from "react"
import type { Rows } from "../../kernel/Queries.ts"
import { useUrl } from "../../kernel/Url.ts"
import { CreateButton } from "../Button.tsx"
import { DataTable } from "../DataTable.tsx"
import type { Column, Unit } from "../DataTable.tsx"
import { PageHead } from "../Page.tsx"
import { EmptyList, ReadOnly } from "../States.tsx"

export const RecordList = <T extends { readonly id: string }>({
  children,
  columns,
  form,
  isCreating: startsCreating = false,
  isFiltered = false,
  mayWrite,
  note = !mayWrite && <ReadOnly />,
  rows,
  texts: { create, empty, emptyDetail, title },
  unit,
}: {
  readonly texts: {
    readonly title: string
    readonly create: string
    readonly empty: string
    readonly emptyDetail: string
  }
  readonly unit: Unit
  readonly columns: ReadonlyArray<Column<T>>
  readonly rows: Rows<T>
  /** Whether the button that creates a record is there. */
  readonly mayWrite: boolean
  /** Why it is not there. */
  readonly note?: ReactNode
  /** Whether the form is open from the start. */
  readonly isCreating?: boolean
  readonly form: (close: () => void) => ReactNode
  /** Whether the filters leave rows out. */
  readonly isFiltered?: boolean
  /** The filters. */
  readonly children?: ReactNode
}) => {
  const [{ form: wanted }] = useUrl()
  const [isCreating, setCreating] = useState(startsCreating || (mayWrite && wanted === "new"))
  const button = mayWrite && <CreateButton onPress={() => setCreating(true)}>{create}</CreateButton>
  return (
    <>
      <PageHead title={title} actions={button} />
      {note}
      {children !== undefined && <div className="filters">{children}</div>}
      <DataTable
        label={title}
        unit={unit}
        columns={columns}
        rows={rows}
        rowKey={({ id }) => id}
        empty={
          <EmptyList isFiltered={isFiltered} title={empty} action={button}>
            {emptyDetail}
          </EmptyList>
        }
      />
      {isCreating && form(() => setCreating(false))}
    </>
  )
}
