/** Memoization of functions. */

/** Memoizes a function by a key of its argument. The cache lives as long as the returned function. */
export const remembered = <A, B>(keyOf: (input: A) => string, compute: (input: A) => B): ((input: A) => B) => {
  const cache = new Map<string, B>()
  return (input) => {
    const key = keyOf(input)
    const result = cache.get(key) ?? compute(input)
    cache.set(key, result)
    return result
  }
}
