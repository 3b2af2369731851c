/** JSON pointers (RFC 6901) of places inside schemas and values. Pure. */

/** The pointer of a member or item below a place. */
export const below = (pointer: string, key: string | number): string =>
  `${pointer}/${typeof key === "number" ? key : key.replaceAll("~", "~0").replaceAll("/", "~1")}`

const decoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** The fragment of a reference (`#/$defs/a%25b`) with its percent-encoding taken off; nothing if that is broken. */
export const fragmentOf = (reference: string): string | undefined =>
  reference.startsWith("#") ? decoded(reference.slice(1)) : undefined
