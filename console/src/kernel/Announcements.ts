/** Short texts about what just happened. The shell shows each for a moment, and screen readers say it once. */

const SHOWN_MS = 5_000

let message = ""
let hiding: ReturnType<typeof setTimeout> | undefined
const listeners = new Set<() => void>()

const show = (text: string) => {
  message = text
  for (const listener of listeners) listener()
}

/** Says a short text. */
export const announce = (text: string): void => {
  // The same text again is a change too.
  show(message === text ? `${text}\u00A0` : text)
  clearTimeout(hiding)
  hiding = setTimeout(() => show(""), SHOWN_MS)
}

/** What was said last; "" after a moment. */
export const announced = (): string => message

/** Calls the listener after each change. */
export const onAnnouncement = (listener: () => void): (() => void) => {
  listeners.add(listener)
  return () => {
    listeners.delete(listener)
  }
}
