/** Limits for the JSON of a token, so that all verifiers agree: parsers have different limits, or none. */

/** Objects and arrays within each other, the outermost included. The service issues fewer than 10. */
const MAX_DEPTH = 100

/** Texts, brackets, and numbers of more than 100 characters. The service writes longer numbers as texts. */
const MARKS = /"[^"\\]*(?:\\.[^"\\]*)*"|[[{\]}]|[\d.eE+-]{101,}/gs

/** Whether JSON is within the bounds. It need not be JSON. */
export const isBounded = (json: string): boolean => {
  let depth = 0
  return (json.match(MARKS) ?? []).every(
    (mark) => mark.startsWith('"') || (mark.length === 1 && (depth += "[{".includes(mark) ? 1 : -1) <= MAX_DEPTH),
  )
}
