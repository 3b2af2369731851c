/** What a person prefers in this browser. Nothing of it is secret. */
import { useSyncExternalStore } from "react"

export type Theme = "system" | "light" | "dark"

interface Preferences {
  readonly theme: Theme
  /** Whether single letters are shortcuts. */
  readonly letters: boolean
}

const KEY = "keyshelf.preferences"
const defaults: Preferences = { theme: "system", letters: true }

const read = (): Preferences => {
  try {
    return { ...defaults, ...JSON.parse(localStorage.getItem(KEY) ?? "{}") }
  } catch {
    return defaults
  }
}

let preferences = read()
const listeners = new Set<() => void>()

/** Shows the page in the preferred theme. */
export const applyTheme = (): void => {
  const root = document.documentElement
  if (preferences.theme === "system") delete root.dataset["theme"]
  else root.dataset["theme"] = preferences.theme
}

export const setPreferences = (change: Partial<Preferences>): void => {
  preferences = { ...preferences, ...change }
  localStorage.setItem(KEY, JSON.stringify(preferences))
  applyTheme()
  for (const listener of listeners) listener()
}

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => {
    listeners.delete(listener)
  }
}

export const usePreferences = (): Preferences => useSyncExternalStore(subscribe, () => preferences)
