/** A field with a list of results below it, used with the keyboard: arrows choose, Enter opens. */
import { Search } from "lucide-react"
import { useEffect, useId, useLayoutEffect, useRef, useState } from "react"
import type { KeyboardEvent, MouseEvent, ReactNode, SyntheticEvent } from "react"
import { createPortal } from "react-dom"

interface Result {
  readonly id: string
  readonly group: string
  readonly title: string
  readonly detail: ReactNode
  readonly open: () => void
}

interface PaletteProps {
  readonly label: string
  readonly onClose: () => void
  readonly text: string
  readonly onText: (text: string) => void
  readonly results: ReadonlyArray<Result>
  /** The content below the field when there are no results. */
  readonly note: ReactNode
}

/**
 * The browser's own dialog: it is there with the key that opens it, before any other code is loaded, and focuses its field. It is above
 * the dialogs of React Aria, which leave the focus to what has the attribute of the top layer. A focus of React's before it opens would
 * make the field what the focus goes back to.
 */
const useModal = (onClose: () => void) => {
  const dialog = useRef<HTMLDialogElement>(null)
  useLayoutEffect(() => {
    const element = dialog.current
    const before = document.activeElement
    element?.showModal()
    return () => {
      element?.close()
      if (!(before instanceof HTMLElement)) return
      // Chromium gives the focus back without the caret: what is typed would be lost.
      before.blur()
      before.focus()
    }
  }, [])
  return {
    ref: dialog,
    onCancel: (event: SyntheticEvent) => {
      event.preventDefault()
      onClose()
    },
    onClick: (event: MouseEvent) => {
      // The backdrop belongs to the dialog.
      if (event.target === dialog.current) onClose()
    },
  }
}

export const Palette = ({ label, note, onClose, onText, results, text }: PaletteProps) => {
  const [chosen, setChosen] = useState(0)
  const list = useId()
  const modal = useModal(onClose)
  useEffect(() => setChosen(0), [results])
  const open = (result: Result | undefined) => {
    if (result === undefined) return
    onClose()
    result.open()
  }
  const onKey = (event: KeyboardEvent) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0
    if (step !== 0) {
      event.preventDefault()
      setChosen((now) => Math.min(Math.max(0, now + step), Math.max(0, results.length - 1)))
    } else if (event.key === "Enter") {
      event.preventDefault()
      open(results[chosen])
    }
  }
  const groups = [...new Set(results.map(({ group }) => group))]
  return createPortal(
    <dialog {...modal} className="modal palette" aria-label={label} data-react-aria-top-layer="true">
      <div className="dialog">
        <div className="palette-field">
          <Search aria-hidden size={16} />
          <input
            role="combobox"
            aria-expanded={results.length > 0}
            aria-controls={list}
            aria-label={label}
            aria-activedescendant={results[chosen] === undefined ? undefined : `${list}-${chosen}`}
            aria-autocomplete="list"
            placeholder={label}
            value={text}
            spellCheck={false}
            onChange={(event) => onText(event.target.value)}
            onKeyDown={onKey}
          />
        </div>
        <div id={list} role="listbox" aria-label={label} className="palette-list">
          {groups.map((group) => (
            <div key={group} role="group" aria-label={group}>
              <div className="palette-group" aria-hidden>
                {group}
              </div>
              {results.map((result, index) =>
                result.group === group ? (
                  <div
                    key={result.id}
                    id={`${list}-${index}`}
                    role="option"
                    tabIndex={-1}
                    aria-selected={index === chosen}
                    className={index === chosen ? "palette-item chosen" : "palette-item"}
                    onPointerMove={() => setChosen(index)}
                    onClick={() => open(result)}
                    onKeyDown={onKey}
                  >
                    <span>{result.title}</span>
                    <span className="palette-detail">{result.detail}</span>
                  </div>
                ) : null,
              )}
            </div>
          ))}
        </div>
        {results.length === 0 && (
          <div className="palette-note" role="status">
            {note}
          </div>
        )}
      </div>
    </dialog>,
    document.body,
  )
}
