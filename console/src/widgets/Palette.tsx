/** A field with a list of results below it, used with the keyboard: arrows choose, Enter opens. */
import { Search } from "lucide-react"
import { useEffect, useId, useState } from "react"
import type { KeyboardEvent, ReactNode } from "react"
import { Dialog as AriaDialog, Modal, ModalOverlay } from "react-aria-components"

export interface Result {
  readonly id: string
  readonly group: string
  readonly title: string
  readonly detail: ReactNode
  readonly open: () => void
}

interface PaletteProps {
  readonly label: string
  readonly placeholder: string
  readonly isOpen: boolean
  readonly onClose: () => void
  readonly text: string
  readonly onText: (text: string) => void
  readonly results: ReadonlyArray<Result>
  /** The content below the field when there are no results. */
  readonly note: ReactNode
}

export const Palette = ({ isOpen, label, note, onClose, onText, placeholder, results, text }: PaletteProps) => {
  const [chosen, setChosen] = useState(0)
  const list = useId()
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
  return (
    <ModalOverlay
      className="overlay top"
      isDismissable
      isOpen={isOpen}
      onOpenChange={(isNowOpen) => {
        if (!isNowOpen) onClose()
      }}
    >
      <Modal className="modal palette">
        <AriaDialog aria-label={label} className="dialog">
          <div className="palette-field">
            <Search aria-hidden size={16} />
            <input
              autoFocus
              role="combobox"
              aria-expanded={results.length > 0}
              aria-controls={list}
              aria-label={label}
              aria-activedescendant={results[chosen] === undefined ? undefined : `${list}-${chosen}`}
              aria-autocomplete="list"
              placeholder={placeholder}
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
        </AriaDialog>
      </Modal>
    </ModalOverlay>
  )
}
