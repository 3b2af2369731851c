/**
 * Regular expressions of schemas, matched in time that grows with the text and never explodes. A pattern must be a
 * valid ECMA-262 expression with the `u` flag, as JSON Schema asks, and one that RE2 can match: without look-around
 * and back-references. What the two engines read differently (`.`, `\s`, long category names) is translated. Pure.
 */
import { RE2JS } from "re2js"
import { PATTERN_TOKEN } from "./Backtracking.ts"

/** The longest pattern, in UTF-16 units. */
export const LONGEST_PATTERN = 512
/** The largest pattern, in steps that one character of text can take; counted repetitions multiply. */
export const LARGEST_PATTERN = 1000

/** A pattern that was compiled. */
export interface Pattern {
  /** Whether it matches somewhere in the text. */
  readonly matches: (text: string) => boolean
  /** What one character of text can cost. */
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

const named = (token: string, category: string): string => {
  const short = category.replace(/^(?:General_Category|gc)=/u, "").replace(/^(?:Script|sc)=/u, "")
  return `${token.slice(0, 2)}{${Object.hasOwn(categories, short) ? categories[short] : short}}`
}

/** The pattern in RE2's words, and how large its machine gets at most: groups add up, counted repetitions multiply. */
const translated = (source: string): { readonly text: string; readonly size: number } => {
  let text = ""
  let inClass = false
  let classStart = 0
  // Sizes of the open groups, and of the last atom of each: a repetition multiplies that one.
  const open: Array<{ total: number; last: number }> = [{ total: 0, last: 0 }]
  const add = (size: number) => {
    const group = open.at(-1)
    if (group === undefined) return
    group.total += size
    group.last = size
  }
  for (const match of source.matchAll(PATTERN_TOKEN)) {
    const token = match[0]
    const { category, least, most } = match.groups ?? {}
    if (category !== undefined) {
      text += named(token, category)
      if (!inClass) add(1)
    } else if (inClass) {
      if (token === "]") inClass = false
      // The class of nothing, which RE2 has no word for.
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
      open.push({ total: 0, last: 0 })
      text += token
    } else if (token === ")") {
      const closed = open.pop()
      add((closed?.total ?? 0) + 2)
      text += token
    } else if (least !== undefined) {
      const atLeast = Number(least)
      const times = Math.max(atLeast, Number(most === undefined || most === "" ? 0 : most), 1)
      const group = open.at(-1)
      if (group !== undefined) {
        // What may be left out takes one more step each.
        group.total += group.last * (times - 1) + Math.max(times - atLeast, 1)
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
  return { text, size: open.reduce((sum, { total }) => sum + total, 0) }
}

const isEcmaScript = (source: string): boolean => {
  try {
    return new RegExp(source, "u").unicode
  } catch {
    return false
  }
}

/** The compiled pattern, or what is wrong with it. */
export const compilePattern = (source: string): Pattern | string => {
  if (source.length > LONGEST_PATTERN) return `is a regular expression of more than ${LONGEST_PATTERN} characters`
  if (!isEcmaScript(source)) return "is not a regular expression (ECMA-262 with the u flag)"
  const { text, size } = translated(source)
  if (size > LARGEST_PATTERN) return "is a regular expression whose repetitions make it too large"
  try {
    const expression = RE2JS.compile(RE2JS.translateRegExp(text))
    return { matches: (subject) => expression.matcher(subject).find(), size: Math.max(size, expression.programSize()) }
  } catch {
    return "is a regular expression that RE2 does not know: look-around and back-references are not taken, nor are repetitions of more than 1,000"
  }
}
