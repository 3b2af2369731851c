/** Reads the examples of a page: its blocks of shell, and the JSON that the page shows as their output. */

/** A fenced block of a page. */
interface Block {
  /** The line of the page at which the block opens. */
  readonly line: number
  readonly tag: string
  readonly text: string
}

/** A block of shell that a reader runs, and the output that the page shows for it. */
export interface Example {
  readonly line: number
  readonly script: string
  /** The JSON documents in the block that directly follows, or none. */
  readonly shown: ReadonlyArray<unknown>
}

/** What a reader runs. Commands that a test cannot run are `console` blocks. */
const SHELL_TAGS: ReadonlyArray<string> = ["sh", "bash", "shell"]

/** The fenced blocks of a page. Blocks within lists are indented, and so are their lines. */
export const blocksOf = (page: string): ReadonlyArray<Block> =>
  Array.from(page.matchAll(/^( *)```(\S*)\n([\s\S]*?)^\1```$/gm), (match) => ({
    line: page.slice(0, match.index).split("\n").length,
    tag: match[2] ?? "",
    text: (match[3] ?? "").replaceAll(new RegExp(`^${match[1] ?? ""}`, "gm"), ""),
  }))

/** Splits a text of JSON documents that follow each other. Skips text between them, such as the output of a script. */
export const documentsIn = (text: string): ReadonlyArray<unknown> => {
  const documents: Array<unknown> = []
  let rest = text
  while (rest !== "") {
    const start = rest.search(/^[{[]/m)
    if (start === -1) break
    rest = rest.slice(start)
    const end = endOfDocument(rest)
    documents.push(JSON.parse(rest.slice(0, end)))
    rest = rest.slice(end)
  }
  return documents
}

/** The length of the JSON document at the beginning of a text. */
const endOfDocument = (text: string): number => {
  let depth = 0
  for (const token of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\]]/g)) {
    if (token[0] === "{" || token[0] === "[") depth += 1
    if (token[0] === "}" || token[0] === "]") depth -= 1
    if (depth === 0) return token.index + token[0].length
  }
  throw new Error(`A JSON document does not end: ${text.slice(0, 80)}`)
}

/** The examples of a page. A block of JSON shows the output of the block of shell before it if only a line of text separates them. */
export const examplesOf = (page: string): ReadonlyArray<Example> => {
  const blocks = blocksOf(page)
  const lines = page.split("\n")
  return blocks.flatMap((block, index) => {
    if (!SHELL_TAGS.includes(block.tag)) return []
    const next = blocks[index + 1]
    const end = block.line + block.text.split("\n").length
    const between = next === undefined ? [] : lines.slice(end, next.line - 1).filter((line) => line.trim() !== "")
    const isOutput = next?.tag === "json" && between.length <= 1
    return [{ line: block.line, script: block.text, shown: isOutput ? documentsIn(next.text) : [] }]
  })
}

const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

/** Ids and times differ between two runs. A shown text that ends with "..." stands for any text with that beginning. */
const isSameText = (shown: string, real: string): boolean =>
  shown === real ||
  [ID, TIME].some((form) => form.test(shown) && form.test(real)) ||
  (shown.endsWith("...") && real.startsWith(shown.slice(0, -3)))

const typeOf = (value: unknown): string => (value === null ? "null" : Array.isArray(value) ? "array" : typeof value)

/** Compares the output that a page shows with the real one: the same properties, and the same values unless they differ between runs. */
export const differences = (shown: unknown, real: unknown, at = "$"): ReadonlyArray<string> => {
  if (typeOf(shown) !== typeOf(real))
    return [`${at}: the page shows ${typeOf(shown)}, the service returns ${typeOf(real)}`]
  if (Array.isArray(shown) && Array.isArray(real)) {
    if (shown.length !== real.length)
      return [`${at}: the page shows ${shown.length} items, the service returns ${real.length}`]
    return shown.flatMap((item, index) => differences(item, real[index], `${at}[${index}]`))
  }
  if (typeof shown === "object" && shown !== null && typeof real === "object" && real !== null) {
    const left = new Map<string, unknown>(Object.entries(shown))
    const right = new Map<string, unknown>(Object.entries(real))
    return [...new Set([...left.keys(), ...right.keys()])].flatMap((key) => {
      if (!left.has(key)) return [`${at}.${key}: the page does not show it`]
      if (!right.has(key)) return [`${at}.${key}: the service does not return it`]
      return differences(left.get(key), right.get(key), `${at}.${key}`)
    })
  }
  const isSame = typeof shown === "string" && typeof real === "string" ? isSameText(shown, real) : shown === real
  return isSame ? [] : [`${at}: the page shows ${JSON.stringify(shown)}, the service returns ${JSON.stringify(real)}`]
}
