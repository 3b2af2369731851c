/** Targetings as plain sentences. */
import { formatBoundary } from "../kernel/Formats.ts"
import { t } from "./texts.en.ts"
import { formatValue } from "./Values.ts"
import type { Condition, Operator, Targeting } from "./Values.ts"

const anyOf = (values: ReadonlyArray<string>, word: string): string => {
  if (values.length < 2) return values[0] ?? ""
  return `${values.slice(0, -1).join(", ")} ${word} ${values.at(-1)}`
}

const momentOf = (text: string): string => (Number.isNaN(Date.parse(text)) ? text : formatBoundary(text))

/** The words after the attribute, by operator. `all` is each value as it is written. */
const predicates: Readonly<Record<Operator, (values: ReadonlyArray<string>) => string>> = {
  EQUALS: (all) => t.is.equal(anyOf(all, t.is.or)),
  NOT_EQUALS: (all) => t.is.notEqual(anyOf(all, t.is.or)),
  IN: (all) => t.is.equal(anyOf(all, t.is.or)),
  NOT_IN: (all) => (all.length === 1 ? t.is.notEqual(all[0] ?? "") : t.is.noneOf(anyOf(all, t.is.nor))),
  CONTAINS: (all) => t.is.containing(anyOf(all, t.is.or)),
  STARTS_WITH: (all) => t.is.starting(anyOf(all, t.is.or)),
  ENDS_WITH: (all) => t.is.ending(anyOf(all, t.is.or)),
  GT: ([one = ""]) => t.is.more(one),
  GTE: ([one = ""]) => t.is.atLeast(one),
  LT: ([one = ""]) => t.is.less(one),
  LTE: ([one = ""]) => t.is.atMost(one),
  SEMVER_GT: ([one = ""]) => t.is.laterVersion(one),
  SEMVER_GTE: ([one = ""]) => t.is.versionFrom(one),
  SEMVER_LT: ([one = ""]) => t.is.earlierVersion(one),
  SEMVER_LTE: ([one = ""]) => t.is.versionUpTo(one),
  BEFORE: ([one = ""]) => t.is.before(momentOf(one)),
  AFTER: ([one = ""]) => t.is.after(momentOf(one)),
  EXISTS: ([one = "true"]) => (one === "false" ? t.is.absent : t.is.present),
}

/** How many values the sentence of an operator needs: `EXISTS` none, all others one or more. */
const hasSentence = ({ operator, values = [] }: Condition): boolean =>
  operator in predicates &&
  (operator === "EXISTS" ? values.length <= 1 : values.length > 0) &&
  values.every((value) => typeof value !== "object")

const phraseOf = ({ attribute, operator, values = [] }: Condition): string =>
  `${attribute === "targetingKey" ? t.theKey : attribute} ${predicates[operator](
    values.map((value) => formatValue(value, operator)),
  )}`

/** The sentence of a targeting, or `undefined` if it has a condition that this version of the console does not know. */
export const sentenceOf = ({ conditions, percentage, variant }: Targeting): string | undefined => {
  if (!conditions.every(hasSentence)) return undefined
  const phrases = conditions.map(phraseOf)
  const share = percentage ?? undefined
  if (phrases.length === 0) return share === undefined ? t.everyone(variant) : t.share(share, variant)
  const where = phrases.join(` ${t.and} `)
  return share === undefined ? t.where(where, variant) : t.shareWhere(share, where, variant)
}
