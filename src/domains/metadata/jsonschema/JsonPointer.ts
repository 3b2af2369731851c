/** JSON pointers (RFC 6901) into schemas and values. Pure. */

/** The pointer of a property or item below a pointer. */
export const childPointer = (pointer: string, key: string | number): string =>
  `${pointer}/${typeof key === "number" ? key : key.replaceAll("~", "~0").replaceAll("/", "~1")}`

const decoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** The percent-decoded fragment of a reference (`#/$defs/a%25b`), or `undefined` if it is not local or not valid. */
export const fragmentOf = (reference: string): string | undefined =>
  reference.startsWith("#") ? decoded(reference.slice(1)) : undefined
