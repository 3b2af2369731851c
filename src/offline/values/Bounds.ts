/** What JSON of a token may be, so that all verifiers agree: some parsers have a limit of their own, others have none. */

/** Objects and arrays within each other, the outermost included. The service issues fewer than 10. */
const MAX_DEPTH = 100

/** Characters of a number. The service writes longer ones as texts. */
const MAX_NUMBER_LENGTH = 100

/** Whether JSON is within the bounds. It need not be JSON. */
export const isBounded = (json: string): boolean => {
  let depth = 0
  let numberLength = 0
  let isInText = false
  for (let index = 0; index < json.length; index++) {
    const character = json.charAt(index)
    if (isInText && character === "\\") index++
    else if (character === '"') isInText = !isInText
    else if (!isInText) {
      depth += "[{".includes(character) ? 1 : "]}".includes(character) ? -1 : 0
      numberLength = "0123456789.eE+-".includes(character) ? numberLength + 1 : 0
      if (depth > MAX_DEPTH || numberLength > MAX_NUMBER_LENGTH) return false
    }
  }
  return true
}
