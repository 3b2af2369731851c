/** Lists whose order counts: rows that are added, removed and moved, with the keyboard too. */
import { ArrowDown, ArrowUp, Plus, X } from "lucide-react"
import { useEffect, useRef } from "react"
import type { ReactNode } from "react"
import { t } from "../../kernel/texts.en.ts"
import { announce } from "../../kernel/Announcements.ts"
import { Button, IconButton } from "../Button.tsx"

/** The list with one element at another place. */
export const moved = <T,>(list: ReadonlyArray<T>, from: number, to: number): ReadonlyArray<T> => {
  const rest = list.toSpliced(from, 1)
  return rest.toSpliced(to, 0, ...list.slice(from, from + 1))
}

/** Buttons that move an element of a list. The focus goes along with it, and its new place is said. */
export const MoveButtons = ({
  count,
  index,
  name,
  onMove,
}: {
  readonly name: string
  readonly index: number
  readonly count: number
  readonly onMove: (to: number) => void
}) => {
  const up = useRef<HTMLButtonElement>(null)
  const down = useRef<HTMLButtonElement>(null)
  const pressed = useRef<"up" | "down">(undefined)
  useEffect(() => {
    if (pressed.current === undefined) return
    const [first, second] = pressed.current === "up" ? [up, down] : [down, up]
    pressed.current = undefined
    const target = first.current ?? second.current
    target?.focus()
    announce(t.common.moved(name, index + 1, count))
    // Only a new place moves the focus, not a new name.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [index])
  const move = (direction: "up" | "down") => {
    pressed.current = direction
    onMove(direction === "up" ? index - 1 : index + 1)
  }
  return (
    <>
      {index > 0 && (
        <IconButton
          ref={up}
          icon={<ArrowUp aria-hidden size={14} />}
          label={t.common.moveUp(name)}
          onPress={() => move("up")}
        />
      )}
      {index < count - 1 && (
        <IconButton
          ref={down}
          icon={<ArrowDown aria-hidden size={14} />}
          label={t.common.moveDown(name)}
          onPress={() => move("down")}
        />
      )}
    </>
  )
}

/** An element of a form's list. Its number stays when it moves. */
export interface Line {
  readonly line: number
}

let nextLine = 0
/** A new element of a form's list. */
export const newLine = <T extends object>(values: T): T & Line => ({ ...values, line: nextLine++ })

/** A list in a form. */
export const ListField = <T extends Line>({
  add,
  addLabel,
  children,
  error,
  hint,
  isOrdered = false,
  label,
  nameOf,
  onChange,
  rows,
}: {
  readonly label: string
  readonly rows: ReadonlyArray<T>
  readonly onChange: (rows: ReadonlyArray<T>) => void
  /** What a new row begins with. Without it, rows come from elsewhere. */
  readonly add?: () => T
  readonly addLabel?: string
  /** What a row is called in the names of its buttons. */
  readonly nameOf: (row: T, index: number) => string
  readonly children: (row: T, change: (part: Partial<T>) => void, index: number) => ReactNode
  readonly isOrdered?: boolean
  readonly hint?: ReactNode
  readonly error?: string | undefined
}) => {
  const end = useRef<HTMLButtonElement>(null)
  const group = useRef<HTMLFieldSetElement>(null)
  return (
    <fieldset className="fieldset list-field" ref={group} tabIndex={-1}>
      <legend className="label">{label}</legend>
      {hint !== undefined && <p className="hint">{hint}</p>}
      {rows.map((row, index) => (
        <div key={row.line} className="list-row">
          <div className="list-cells">
            {children(
              row,
              (part) => onChange(rows.map((one) => (one.line === row.line ? { ...one, ...part } : one))),
              index,
            )}
          </div>
          <div className="list-buttons">
            {isOrdered && (
              <MoveButtons
                name={nameOf(row, index)}
                index={index}
                count={rows.length}
                onMove={(to) => onChange(moved(rows, index, to))}
              />
            )}
            <IconButton
              icon={<X aria-hidden size={14} />}
              label={t.common.removeRow(nameOf(row, index))}
              onPress={() => {
                onChange(rows.filter(({ line }) => line !== row.line))
                // The button that had the focus is gone.
                const target = end.current ?? group.current
                target?.focus()
              }}
            />
          </div>
        </div>
      ))}
      {error !== undefined && <p className="field-error">{error}</p>}
      {add !== undefined && (
        <div>
          <Button
            ref={end}
            look="quiet"
            icon={<Plus aria-hidden size={14} />}
            onPress={() => onChange([...rows, add()])}
          >
            {addLabel}
          </Button>
        </div>
      )}
    </fieldset>
  )
}
