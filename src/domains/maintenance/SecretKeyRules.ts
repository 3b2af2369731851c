/** Decides whether a secret key belongs to a database. */

/** A key compared with the check value that the database stores under its id: equal, different, or none stored yet. */
export type KeyCheck = "same" | "different" | "none"

/** How many of the tried values a key opened. */
export interface Opening {
  readonly what: string
  readonly key: string
  readonly tried: number
  readonly opened: number
}

/**
 * Whether a key fits. Its check value decides. Without one, stored values decide: a key that opens none of them is wrong.
 * A key that opens only some is in use, because a previous key was replaced under the same id. Pure.
 */
export const isFitting = (check: KeyCheck, openings: ReadonlyArray<Opening>): boolean => {
  if (check !== "none") return check === "same"
  const tried = openings.filter((opening) => opening.tried > 0)
  return tried.length === 0 || tried.some(({ opened }) => opened > 0)
}
