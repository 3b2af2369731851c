/** The header of a CSV file: its separator, and its columns. An ambiguous header is rejected. Pure. */

/** The header cannot be read in one way. The message says what to correct. */
class HeaderRefused extends Error {}

/** The separators of spreadsheets, with their names. */
const SEPARATORS = [
  [",", "commas"],
  [";", "semicolons"],
  ["\t", "tabs"],
  ["|", "bars"],
] as const

interface Beginning {
  readonly separator: string
  /** The text from the header on. */
  readonly text: string
}

const SEP_LINE = /^"?sep=([^\r\n])"?(\r\n|\n|\r|$)/i

/** The first line that is not empty, up to a line break outside of quotes; `undefined` if the text may end before it does. */
const headerLineOf = (text: string, isWhole: boolean): string | undefined => {
  let isQuoted = false
  for (let at = text.search(/\S/); at >= 0 && at < text.length; at++) {
    if (text[at] === '"') isQuoted = !isQuoted
    else if (!isQuoted && (text[at] === "\n" || text[at] === "\r")) return text.slice(0, at)
  }
  return isWhole ? text : undefined
}

/** Reads the separator from the header, or from a line `sep=;` before it. `undefined` if more text is needed. */
export const beginningOf = (text: string, isWhole: boolean): Beginning | undefined => {
  const header = headerLineOf(text, isWhole)
  if (header === undefined) return undefined
  const [line, named] = SEP_LINE.exec(text) ?? []
  if (line !== undefined && named !== undefined) return { separator: named, text: text.slice(line.length) }
  const names = header.replaceAll(/"[^"]*"/g, "")
  const found = SEPARATORS.filter(([separator]) => names.trim().includes(separator))
  if (found.length > 1) {
    const kinds = found.map(([, kind]) => kind).join(" and ")
    throw new HeaderRefused(
      `the header has ${kinds}. Separate the columns by one of them, or name it in a first line such as sep=;`,
    )
  }
  return { separator: found[0]?.[0] ?? ",", text }
}

const sameName = (name: string): string => name.normalize("NFKC").trim().toLowerCase()

/** Checks the names of the columns. A name may be empty, because spreadsheets write empty columns. */
export const columnsOf = (header: ReadonlyArray<string>): ReadonlyArray<string> => {
  const columns = header.map((name) => name.trim())
  if (columns.every((name) => name === "")) throw new HeaderRefused("the header names no column")
  const seen = new Map<string, string>()
  for (const name of columns) {
    if (name === "") continue
    const before = seen.get(sameName(name))
    if (before !== undefined) {
      const both = before === name ? `the column "${name}" twice` : `the columns "${before}" and "${name}"`
      throw new HeaderRefused(`the header has ${both}, and it is unclear which one is meant. Remove or rename one`)
    }
    seen.set(sameName(name), name)
  }
  for (const name of columns) {
    const [parent = ""] = name.split(".")
    const whole = name.includes(".") ? seen.get(sameName(parent)) : undefined
    if (whole !== undefined) {
      throw new HeaderRefused(`the columns "${whole}" and "${name}" set the same property. Remove one of them`)
    }
  }
  return columns
}
