import { assert, describe, it } from "@effect/vitest"
import { readdirSync, readFileSync, statSync } from "node:fs"
import { join, relative, resolve } from "node:path"

const root = resolve(import.meta.dirname, "../..")

/** The folders and pages whose comments and prose follow the rules. */
const PLACES = [
  "README.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
  "bench",
  "clients",
  "console/src",
  "deploy",
  "docs",
  "examples",
  "migrations",
  "bin",
  "src/api",
  "src/app",
  "src/cli",
  "src/client",
  "src/demo",
  "src/domains",
  "src/http",
  "src/infra",
  "src/kernel",
  "src/offline",
  "src/openapi",
]

/** Not ours to change, or not written by people: the specification, generated pages, results of a run. */
const SKIPPED = /\/(?:node_modules|dist|generated|spec)\/|\/docs\/errors\.md$|\/RESULTS\.md$/

/** A word that reads as if translated, what to write instead, and a sentence that has it. */
interface Word {
  readonly pattern: RegExp
  readonly instead: string
  readonly example: string
}

const WORDS: ReadonlyArray<Word> = [
  {
    pattern: /\b(?:stands?|stood)\b(?! (?:for|still|alone)\b)/i,
    instead: "is, follows, blocks",
    example: "The scopes of a token stand in its record.",
  },
  {
    pattern: /\btells\b|\b(?:is|are|was|were|been|being) told\b|\btold otherwise\b/i,
    instead: "shows, says, reports, notifies",
    example: "The reader is told the reason.",
  },
  {
    pattern: /\bno more(?=\s*[.,;:)]|$)|\b(?:is|are|counts?|exists?|trusted|used?) no more\b(?! than)/i,
    instead: "no longer, at most",
    example: "The site can use it no more.",
  },
  {
    pattern: /\bof which\b/i,
    instead: "a sentence whose subject is the noun",
    example: "There are scopes of which one is enough.",
  },
  { pattern: /\bfor good\b/i, instead: "permanently", example: "The delivery failed for good." },
  {
    // A "learned key" is a term of the format of bundles.
    pattern: /\blearn(?:s|t|ing)?\b|\blearned\b(?! (?:keys?|ones?)\b)/i,
    instead: "notices, trusts, stores",
    example: "Products learn the key from the list.",
  },
  { pattern: /\blost on the way\b/i, instead: "not received", example: "The secret was lost on the way." },
  { pattern: /\blets? go of\b/i, instead: "releases", example: "The process lets go of the lock." },
  {
    pattern: /\b(?:nobody|somebody|everybody|whoever)\b/i,
    instead: "no one, someone, everyone, or the caller, another transaction",
    example: "Somebody else changed the record.",
  },
  { pattern: /\bhimself\b/i, instead: "itself", example: "The caller asks for himself." },
  { pattern: /\b(?:in|by) turns\b/i, instead: "alternately, round robin", example: "They run by turns." },
  {
    pattern: /\b(?:at|of|most) so many\b|(?:^|[.:] )so many\b/i,
    instead: "the maximum, the limit",
    example: "A text has at most so many bytes.",
  },
  {
    pattern: /\bsomething else than\b/i,
    instead: "something other than",
    example: "Something else than the service responded.",
  },
  { pattern: /\bunder way\b/i, instead: "in flight", example: "The attempt is under way." },
  { pattern: /\bat hand\b/i, instead: "cached", example: "The manifest at hand is old." },
]

/** Sentences that have such a word and are English. */
const ENGLISH = [
  "A service account stands for a program.",
  "The clock may stand still.",
  "This costs no more than before, and the database accepts no more connections.",
  "A pinned key wins over a learned one.",
  "Call `nobody` to fail.",
]

/** A comment gives its reason itself: readers do not have the papers of its author. Public standards have names. */
const PAPERS =
  /\b(?:contract|interface specification|design(?: paper| of [a-z ]+)?|(?:second |third )?plan),? (?:part|sections?|step) [0-9A-Z]|\((?:section|part) [0-9A-Z.]+\)|\bdesign(?: of [a-z ]+)?, [A-Z][0-9]?\b/i

/** A passage of prose, without line breaks. */
interface Passage {
  readonly line: number
  readonly text: string
}

/** Joins the lines of a paragraph, an item or a row, so that an expression is found across a line break. */
const joined = (lines: ReadonlyArray<Passage>): ReadonlyArray<Passage> => {
  const paragraphs: Array<Passage> = []
  let end = 0
  for (const { line, text } of lines) {
    const last = paragraphs.at(-1)
    const begins = line !== end + 1 || /^(?:\||[-*] |\d+\. |#)/.test(text)
    if (last === undefined || begins) paragraphs.push({ line, text })
    else paragraphs[paragraphs.length - 1] = { ...last, text: `${last.text} ${text}` }
    end = line
  }
  return paragraphs
}

// Names, values and examples are not prose.
const withoutCode = (text: string): string => text.replaceAll(/`[^`]{1,200}`|https?:\S+|"[^"]{1,80}"/g, "_")

/** The prose of a page: everything but its blocks of code. */
const proseOf = (page: string): ReadonlyArray<Passage> => {
  let isCode = false
  return page.split("\n").flatMap((text, index) => {
    if (text.trimStart().startsWith("```")) {
      isCode = !isCode
      return []
    }
    return isCode || text.trim() === "" ? [] : [{ line: index + 1, text: text.trim() }]
  })
}

const SLASHES = /^\s*(?:\/\*\*|\*\/?|\/\/)\s?(.*?)(?:\*\/)?$|\s\/\/ (.*)$/
const HASHES = /^\s*# ?(.*)$|\s# (.*)$/

const COMMENT: Readonly<Record<string, RegExp>> = {
  ts: SLASHES,
  tsx: SLASHES,
  mjs: SLASHES,
  go: SLASHES,
  sh: HASHES,
  conf: HASHES,
  yaml: HASHES,
}

/** The comments of a source. Those of Python are lines that begin with `#`, and texts in three quotation marks. */
const commentsOf = (source: string, extension: string): ReadonlyArray<Passage> => {
  let isText = false
  return source.split("\n").flatMap((text, index) => {
    if (extension !== "py") {
      const [, whole, trailing] = COMMENT[extension]?.exec(text) ?? []
      const comment = (whole ?? trailing ?? "").trim()
      return comment === "" ? [] : [{ line: index + 1, text: comment }]
    }
    const marks = text.split('"""').length - 1
    const isComment = isText || marks > 0 || /^\s*#/.test(text)
    if (marks === 1) isText = !isText
    const comment = text
      .replace(/^\s*#:? ?/, "")
      .replaceAll('"""', "")
      .trim()
    return isComment && comment !== "" ? [{ line: index + 1, text: comment }] : []
  })
}

/** The texts of a screen: its literals, which are prose as a whole. */
const textsOf = (source: string): ReadonlyArray<Passage> =>
  source.split("\n").flatMap((line, index) =>
    [...line.matchAll(/"([^"]+)"|`([^`]+)`|'([^']+)'/g)].map(([, ...literals]) => ({
      line: index + 1,
      text: literals.find((literal) => literal !== undefined) ?? "",
    })),
  )

const filesIn = (place: string): ReadonlyArray<string> => {
  const path = join(root, place)
  if (statSync(path).isFile()) return [path]
  return readdirSync(path, { recursive: true, encoding: "utf8" }).map((file) => join(path, file))
}

const passagesOf = (file: string): ReadonlyArray<Passage> => {
  const extension = file.slice(file.lastIndexOf(".") + 1)
  if (extension !== "md" && extension !== "py" && COMMENT[extension] === undefined) return []
  const source = readFileSync(file, "utf8")
  if (extension === "md") return joined(proseOf(source))
  const comments = joined(commentsOf(source, extension))
  return file.endsWith("/texts.en.ts") ? [...comments, ...textsOf(source)] : comments
}

const passages = PLACES.flatMap((place) => filesIn(place))
  .filter((file) => !SKIPPED.test(file))
  .flatMap((file) => passagesOf(file).map((passage) => ({ file: relative(root, file), ...passage })))

/** The words of a text that match; `undefined` if none do. */
const foundIn = (text: string, pattern: RegExp): string | undefined => pattern.exec(withoutCode(text))?.[0]

/** `path:line: the words, and what to write`, for each passage that matches. */
const findings = (pattern: RegExp, instead: string): ReadonlyArray<string> =>
  passages.flatMap(({ file, line, text }) => {
    const words = foundIn(text, pattern)
    return words === undefined ? [] : [`${file}:${line}: "${words}", write ${instead}`]
  })

describe("comments and pages", () => {
  it("are read from each kind of file, a paragraph at a time", () => {
    const kinds = new Set(passages.map(({ file }) => file.slice(file.lastIndexOf(".") + 1)))
    assert.deepStrictEqual([...kinds].toSorted(), ["conf", "go", "md", "mjs", "py", "sh", "ts", "tsx", "yaml"])
    assert.deepStrictEqual(joined(commentsOf("/**\n * It is\n * told.\n */\nrun() // Once.\n", "ts")), [
      { line: 2, text: "It is told." },
      { line: 5, text: "Once." },
    ])
    assert.deepStrictEqual(joined(commentsOf('def run():\n    """Runs\n    once."""\n    # Twice.\n', "py")), [
      { line: 2, text: "Runs once. Twice." },
    ])
    assert.deepStrictEqual(textsOf('ask: (name: string) => `Delete "${name}"?`,\nnobody: "none",\n'), [
      { line: 1, text: 'Delete "${name}"?' },
      { line: 2, text: "none" },
    ])
    assert.deepStrictEqual(joined(proseOf("A page\nof text.\n```sh\nrun\n```\n- one\n  item\n- two\n")), [
      { line: 1, text: "A page of text." },
      { line: 6, text: "- one item" },
      { line: 8, text: "- two" },
    ])
  })

  it.each([...WORDS])("use plain words: $instead", ({ example, instead, pattern }) => {
    assert.isDefined(foundIn(example, pattern))
    assert.deepStrictEqual(
      ENGLISH.filter((sentence) => foundIn(sentence, pattern) !== undefined),
      [],
    )
    assert.deepStrictEqual(findings(pattern, instead), [])
  })

  it("cite no paper that readers do not have", () => {
    for (const cited of [
      "Pages of lists (contract, section 2).",
      "One receives (design paper, part C).",
      "Lists (design, A4).",
    ]) {
      assert.isDefined(foundIn(cited, PAPERS), cited)
    }
    assert.isUndefined(foundIn("A weight of RFC 9110, section 12.4.2.", PAPERS))
    assert.deepStrictEqual(findings(PAPERS, "the reason, or an ADR"), [])
  })
})
