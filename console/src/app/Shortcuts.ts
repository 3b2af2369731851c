/** Keys: Ctrl-K searches; `g` and a letter opens a screen; `/` goes to the filter; `j` and `k` to rows; `?` lists them. */
import { useRouter } from "@tanstack/react-router"
import { useEffect, useRef } from "react"
import { config } from "../kernel/Config.ts"
import { usePreferences } from "../kernel/Preferences.ts"
import { coreNavigation } from "./navigation.ts"

const SEQUENCE_MS = 1500

/** The screens by their letter. */
export const destinations = new Map(
  coreNavigation.flatMap(({ entries }) =>
    entries.flatMap(({ letter, title, to }) => (letter === undefined ? [] : [[letter, { title, to }]])),
  ),
)

const DIALOGS = "dialog, [role=dialog]"

/** Whether a key belongs to a field, a menu, or a dialog that is open, also before it has the focus. */
const isTaken = (target: EventTarget | null): boolean =>
  document.querySelector(DIALOGS) !== null ||
  (target instanceof HTMLElement &&
    (target.isContentEditable || target.closest("input, textarea, select, [role=menu], [role=listbox]") !== null))

const focusFirst = (selector: string) => {
  const element = document.querySelector<HTMLElement>(selector)
  element?.focus()
  return element !== null
}

export const useShortcuts = ({ help, search }: { readonly search: () => void; readonly help: () => void }) => {
  const router = useRouter()
  const { letters } = usePreferences()
  const pending = useRef(0)
  useEffect(() => {
    const isCore = config().surface === "core"
    const pressed = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k" && isCore) {
        event.preventDefault()
        // What follows is for the field, and no second letter of a screen.
        pending.current = 0
        search()
        return
      }
      if (!letters || event.ctrlKey || event.metaKey || event.altKey || isTaken(event.target)) return
      const isSecond = Date.now() - pending.current < SEQUENCE_MS
      pending.current = 0
      if (isSecond && isCore) {
        const destination = destinations.get(event.key)
        if (destination !== undefined) void router.navigate({ to: destination.to })
      } else if (event.key === "g") pending.current = Date.now()
      else if (event.key === "?") help()
      else if (event.key === "/" && focusFirst("[data-filter] input")) event.preventDefault()
      else if (event.key === "j" && !event.defaultPrevented) focusFirst(".table-body [role=row] a")
    }
    document.addEventListener("keydown", pressed)
    return () => document.removeEventListener("keydown", pressed)
  }, [help, letters, router, search])
}
