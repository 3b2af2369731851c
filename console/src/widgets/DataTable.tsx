/**
 * A table of any number of rows. Only the rows near the window are in the page; more are read while scrolling. On narrow screens
 * each row is a card, with the names of the columns beside the values.
 */
import { useWindowVirtualizer } from "@tanstack/react-virtual"
import { useEffect, useRef } from "react"
import type { KeyboardEvent, ReactNode } from "react"
import type { Rows } from "../kernel/Queries.ts"
import { t } from "../kernel/texts.en.ts"
import { Button } from "./Button.tsx"
import { Failure, Loading } from "./States.tsx"

export interface Column<T> {
  readonly id: string
  readonly title: string
  readonly cell: (row: T) => ReactNode
  /** A track of CSS grid, such as `2fr` or `120px`. */
  readonly width?: string
  readonly isNumber?: boolean
  /** The heading is for screen readers alone, as for a column of buttons. */
  readonly isUntitled?: boolean
}

/** What the rows are. */
export type Unit = keyof typeof t.units

interface DataTableProps<T> {
  readonly label: string
  /** For the line that counts the rows. */
  readonly unit?: Unit
  readonly columns: ReadonlyArray<Column<T>>
  readonly rows: Rows<T>
  readonly rowKey: (row: T) => string
  /** Shown without rows. */
  readonly empty: ReactNode
  readonly isHighlighted?: (row: T) => boolean
}

const ROW_HEIGHT = 40
const MORE_BEFORE_ROWS = 40
const OVERSCAN = 8

/** Moves the focus to the link of the next or the previous row. */
const moveFocus = (event: KeyboardEvent<HTMLDivElement>) => {
  if (event.target instanceof HTMLInputElement || event.ctrlKey || event.metaKey || event.altKey) return
  const down = event.key === "j" || event.key === "ArrowDown"
  if (!down && event.key !== "k" && event.key !== "ArrowUp") return
  const row = document.activeElement?.closest('[role="row"]')
  const next = down ? row?.nextElementSibling : row?.previousElementSibling
  const target = next?.querySelector<HTMLElement>("a, button")
  if (target === null || target === undefined) return
  event.preventDefault()
  target.focus()
}

const Body = <T,>({ columns, isHighlighted, label, rowKey, rows }: DataTableProps<T>) => {
  const items = rows.rows ?? []
  const body = useRef<HTMLDivElement>(null)
  const template = columns.map(({ width = "1fr" }) => `minmax(0, ${width})`).join(" ")
  const virtual = useWindowVirtualizer({
    count: items.length,
    estimateSize: () => ROW_HEIGHT,
    overscan: OVERSCAN,
    scrollMargin: body.current?.offsetTop ?? 0,
    getItemKey: (index) => {
      const item = items[index]
      return item === undefined ? index : rowKey(item)
    },
  })
  const visible = virtual.getVirtualItems()
  const last = visible.at(-1)?.index ?? 0
  const { hasMore, isLoadingMore, loadMore } = rows
  useEffect(() => {
    if (hasMore && !isLoadingMore && last >= items.length - MORE_BEFORE_ROWS) loadMore()
  }, [hasMore, isLoadingMore, last, items.length, loadMore])
  return (
    <div className="table" role="table" aria-label={label} aria-rowcount={hasMore ? -1 : items.length + 1}>
      <div role="rowgroup" className="table-head">
        <div role="row" aria-rowindex={1} className="row" style={{ gridTemplateColumns: template }}>
          {columns.map(({ id, isNumber, isUntitled, title }) => (
            <div key={id} role="columnheader" className={isNumber ? "cell number" : "cell"}>
              <span className={isUntitled ? "visually-hidden" : undefined}>{title}</span>
            </div>
          ))}
        </div>
      </div>
      <div
        ref={body}
        role="rowgroup"
        className="table-body"
        style={{ blockSize: virtual.getTotalSize() }}
        onKeyDown={moveFocus}
      >
        {visible.map(({ index, key, start }) => {
          const item = items[index]
          if (item === undefined) return null
          return (
            <div
              key={key}
              ref={virtual.measureElement}
              data-index={index}
              role="row"
              aria-rowindex={index + 2}
              className={isHighlighted?.(item) ? "row highlighted" : "row"}
              style={{
                gridTemplateColumns: template,
                transform: `translateY(${start - virtual.options.scrollMargin}px)`,
              }}
            >
              {columns.map(({ cell, id, isNumber, isUntitled, title }) => (
                <div
                  key={id}
                  role="cell"
                  className={isNumber ? "cell number" : "cell"}
                  data-title={isUntitled ? undefined : title}
                >
                  {cell(item)}
                </div>
              ))}
            </div>
          )
        })}
      </div>
    </div>
  )
}

/** A list of the service as a table. */
export const DataTable = <T,>(props: DataTableProps<T>) => {
  const { empty, rows, unit = "row" } = props
  if (rows.rows === undefined) {
    return rows.error === null ? (
      <Loading reason={rows.failureReason} />
    ) : (
      <Failure error={rows.error} retry={rows.retry} />
    )
  }
  if (rows.rows.length === 0) return <>{empty}</>
  return (
    <>
      <Body {...props} />
      {rows.error !== null && <Failure error={rows.error} retry={rows.retry} />}
      <p className="count" role="status">
        {t.common.count(rows.rows.length, rows.hasMore, t.units[unit])}{" "}
        {rows.hasMore && (
          <Button look="quiet" onPress={rows.loadMore} isPending={rows.isLoadingMore}>
            {t.common.more}
          </Button>
        )}
      </p>
    </>
  )
}

/** Rows that are complete. */
export const complete = <T,>(rows: ReadonlyArray<T>): Rows<T> => ({
  rows,
  hasMore: false,
  isLoadingMore: false,
  error: null,
  loadMore: () => undefined,
  retry: () => undefined,
})
