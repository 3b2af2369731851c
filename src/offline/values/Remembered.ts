/** Remembers the results of a pure function of texts: claims have the same few ones in each answer. */

const MAX_TEXTS = 1_000
/** Longer texts are not those of amounts and times. */
const MAX_LENGTH = 40

/** The function with a cache, which is emptied when it is full. */
export const remembered = <A>(read: (text: string) => A): ((text: string) => A) => {
  const known = new Map<string, A>()
  return (text) => {
    const found = known.get(text)
    if (found !== undefined) return found
    const value = read(text)
    if (text.length > MAX_LENGTH) return value
    if (known.size >= MAX_TEXTS) known.clear()
    known.set(text, value)
    return value
  }
}
