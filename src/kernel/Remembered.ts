/** Answers that are computed once for many questions. */

/** The same function, which remembers its answers by the names of the questions for as long as it is kept itself. */
export const remembered = <A, B>(nameOf: (asked: A) => string, answer: (asked: A) => B): ((asked: A) => B) => {
  const known = new Map<string, B>()
  return (asked) => {
    const name = nameOf(asked)
    const found = known.get(name) ?? answer(asked)
    known.set(name, found)
    return found
  }
}
