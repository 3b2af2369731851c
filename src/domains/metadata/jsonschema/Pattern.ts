/**
 * Regular expressions of schemas, matched by RE2 in linear time. A pattern must be a valid ECMA-262 expression with the
 * `u` flag, as JSON Schema requires. RE2 does not support look-around and back-references, so these are rejected.
 * Syntax with a different meaning in RE2 (`.`, `\s`, long category names) is translated. Pure.
 */
import { RE2JS } from "re2js"
import { PATTERN_TOKEN } from "./Backtracking.ts"

/** Maximum length of a pattern, in UTF-16 units. */
const MAX_PATTERN_LENGTH = 512
/** Maximum size of a pattern: the steps that one character of text can take. Counted repetitions multiply it. */
const MAX_PATTERN_SIZE = 1000

/** A compiled pattern. */
export interface Pattern {
  /** Whether it matches any part of the text. */
  readonly matches: (text: string) => boolean
  /** The maximum cost of one character of text, in steps. */
  readonly size: number
}

const SPACES = String.raw`\t-\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}`
const NO_SPACES = String.raw`\x00-\x08\x0e-\x1f!-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{fefe}\x{ff00}-\x{10ffff}`

// prettier-ignore
const categories: Readonly<Record<string, string>> = {
  Letter: "L", Cased_Letter: "LC", Uppercase_Letter: "Lu", Lowercase_Letter: "Ll", Titlecase_Letter: "Lt",
  Modifier_Letter: "Lm", Other_Letter: "Lo", Mark: "M", Nonspacing_Mark: "Mn", Spacing_Mark: "Mc",
  Enclosing_Mark: "Me", Number: "N", Decimal_Number: "Nd", digit: "Nd", Letter_Number: "Nl", Other_Number: "No",
  Punctuation: "P", punct: "P", Connector_Punctuation: "Pc", Dash_Punctuation: "Pd", Open_Punctuation: "Ps",
  Close_Punctuation: "Pe", Initial_Punctuation: "Pi", Final_Punctuation: "Pf", Other_Punctuation: "Po", Symbol: "S",
  Math_Symbol: "Sm", Currency_Symbol: "Sc", Modifier_Symbol: "Sk", Other_Symbol: "So", Separator: "Z",
  Space_Separator: "Zs", Line_Separator: "Zl", Paragraph_Separator: "Zp", Other: "C", Control: "Cc", cntrl: "Cc",
  Format: "Cf", Private_Use: "Co",
}

const shortCategory = (token: string, category: string): string => {
  const short = category.replace(/^(?:General_Category|gc)=/u, "").replace(/^(?:Script|sc)=/u, "")
  return `${token.slice(0, 2)}{${Object.hasOwn(categories, short) ? categories[short] : short}}`
}

/** Translates a pattern to RE2 syntax and computes its maximum size: parts add up, counted repetitions multiply. */
const translated = (source: string): { readonly text: string; readonly size: number } => {
  let text = ""
  let inClass = false
  let classStart = 0
  // The sizes of the open groups and of the last atom of each, which a repetition multiplies.
  const openGroups: Array<{ total: number; last: number }> = [{ total: 0, last: 0 }]
  const add = (size: number) => {
    const group = openGroups.at(-1)
    if (group === undefined) return
    group.total += size
    group.last = size
  }
  for (const match of source.matchAll(PATTERN_TOKEN)) {
    const token = match[0]
    const { category, minimum, maximum } = match.groups ?? {}
    if (category !== undefined) {
      text += shortCategory(token, category)
      if (!inClass) add(1)
    } else if (inClass) {
      if (token === "]") inClass = false
      // RE2 has no syntax for the empty class.
      if (token === "]" && text.length === classStart) text += String.raw`^\x00-\x{10FFFF}`
      text +=
        token === String.raw`\s`
          ? SPACES
          : token === String.raw`\S`
            ? NO_SPACES
            : token === "["
              ? String.raw`\[`
              : token
    } else if (token === "[") {
      inClass = true
      text += token
      classStart = text.length
      add(1)
    } else if (token.startsWith("(")) {
      openGroups.push({ total: 0, last: 0 })
      text += token
    } else if (token === ")") {
      const closed = openGroups.pop()
      add((closed?.total ?? 0) + 2)
      text += token
    } else if (minimum !== undefined) {
      const required = Number(minimum)
      const times = Math.max(required, Number(maximum === undefined || maximum === "" ? 0 : maximum), 1)
      const group = openGroups.at(-1)
      if (group !== undefined) {
        // Each optional repetition takes one more step.
        group.total += group.last * (times - 1) + Math.max(times - required, 1)
        group.last *= times
      }
      text += token
    } else {
      text +=
        token === "."
          ? String.raw`[^\n\r\x{2028}\x{2029}]`
          : token === String.raw`\s`
            ? `[${SPACES}]`
            : token === String.raw`\S`
              ? `[^${SPACES}]`
              : token
      add(1)
    }
  }
  return { text, size: openGroups.reduce((sum, { total }) => sum + total, 0) }
}

const isEcmaScript = (source: string): boolean => {
  try {
    return new RegExp(source, "u").unicode
  } catch {
    return false
  }
}

/** Compiles a pattern, or returns the message of the validation error. */
export const compilePattern = (source: string): Pattern | string => {
  if (source.length > MAX_PATTERN_LENGTH)
    return `must be a regular expression of at most ${MAX_PATTERN_LENGTH} characters`
  if (!isEcmaScript(source)) return "must be a valid regular expression (ECMA-262 with the u flag)"
  const { text, size } = translated(source)
  if (size > MAX_PATTERN_SIZE) return "is a regular expression that is too large because of its repetitions"
  try {
    const expression = RE2JS.compile(RE2JS.translateRegExp(text))
    return { matches: (subject) => expression.matcher(subject).find(), size: Math.max(size, expression.programSize()) }
  } catch {
    return "is a regular expression that RE2 does not support. Avoid look-around, back-references, and repetitions of more than 1,000"
  }
}
