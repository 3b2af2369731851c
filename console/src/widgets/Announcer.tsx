/** Announces changes to screen readers: once, politely. */
import { useSyncExternalStore } from "react"

let message = ""
const listeners = new Set<() => void>()

/** Says a short text. */
export const announce = (text: string): void => {
  // The same text again is a change too.
  message = message === text ? `${text}\u00A0` : text
  for (const listener of listeners) listener()
}

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => {
    listeners.delete(listener)
  }
}

/** The region that says it. The shell has one. */
export const Announcer = () => (
  <div className="visually-hidden" role="status" aria-live="polite">
    {useSyncExternalStore(subscribe, () => message)}
  </div>
)
