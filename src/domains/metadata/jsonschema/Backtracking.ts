/** Detects regular expressions with catastrophic backtracking. Pure. */

/**
 * Matches one token of an ECMA-262 pattern: a category, an escape, a counted repetition, the opening of a group, or one
 * character. A character class consists of several tokens.
 */
export const PATTERN_TOKEN =
  /\\[pP]\{(?<category>[^}]*)\}|\\(?:u\{[^}]*\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[A-Za-z]|k<[^>]*>|[\s\S])|\{(?<minimum>\d+)(?:,(?<maximum>\d*))?\}|\(\?(?:<?[=!]|[a-z-]*:|<[^>]*>)|[\s\S]/gu

/** An alternative of a group: a sequence of atoms without `|`. */
interface Branch {
  /** The number of unbounded atoms, and how many of them are required. */
  unbounded: number
  unboundedRequired: number
  /** The number of other required atoms. */
  required: number
}

/** An atom of a branch, with the effect of its quantifier. */
interface Atom {
  /** Whether it is a group that is ambiguous if it is repeated. */
  readonly ambiguous: boolean
  unbounded: boolean
  required: boolean
  quantified: boolean
}

interface Group {
  readonly branches: Array<Branch>
  branch: Branch
  last: Atom | undefined
}

const emptyBranch = (): Branch => ({ unbounded: 0, unboundedRequired: 0, required: 0 })

const countLastAtom = (group: Group): void => {
  const { branch, last } = group
  group.last = undefined
  if (last === undefined) return
  if (last.unbounded) {
    branch.unbounded += 1
    if (last.required) branch.unboundedRequired += 1
  } else if (last.required) branch.required += 1
}

// No atom is required, except at most one unbounded one: if repeated, the branch matches in exponentially many ways.
const isAmbiguous = ({ required, unbounded, unboundedRequired }: Branch): boolean =>
  unbounded > 0 && required === 0 && unboundedRequired <= 1

const canBeEmpty = ({ required, unboundedRequired }: Branch): boolean => required === 0 && unboundedRequired === 0

/**
 * Whether a valid pattern repeats an unbounded repetition, such as `(a+)+` or `(\w+\s?)*`. RE2 matches these in linear
 * time, but clients that read a schema may use an engine with backtracking. There are no false positives, but not every
 * such pattern is detected.
 */
export const hasNestedRepetition = (source: string): boolean => {
  const root: Group = { branches: [], branch: emptyBranch(), last: undefined }
  const openGroups: Array<Group> = [root]
  let inClass = false
  const add = (atom: Atom) => {
    const group = openGroups.at(-1) ?? root
    countLastAtom(group)
    group.last = atom
  }
  const plainAtom = (): Atom => ({ ambiguous: false, unbounded: false, required: true, quantified: false })
  for (const match of source.matchAll(PATTERN_TOKEN)) {
    const token = match[0]
    const { maximum, minimum } = match.groups ?? {}
    const { last } = openGroups.at(-1) ?? root
    if (inClass) inClass = token !== "]"
    else if (token === "[") {
      inClass = true
      add(plainAtom())
    } else if (token.startsWith("(")) {
      openGroups.push({ branches: [], branch: emptyBranch(), last: undefined })
    } else if (token === "|" || token === ")") {
      const group = openGroups.at(-1) ?? root
      countLastAtom(group)
      group.branches.push(group.branch)
      group.branch = emptyBranch()
      if (token === "|") continue
      openGroups.pop()
      const ambiguous = group.branches.some(isAmbiguous)
      add({ ambiguous, unbounded: ambiguous, required: !group.branches.some(canBeEmpty), quantified: false })
    } else if (/^[*+?]$/.test(token) || minimum !== undefined) {
      // A question mark after a quantifier only makes it lazy.
      if (last === undefined || last.quantified) continue
      const unbounded = token === "*" || token === "+" || maximum === ""
      if (unbounded && last.ambiguous) return true
      last.quantified = true
      last.unbounded ||= unbounded
      if (token === "*" || token === "?" || Number(minimum) === 0) last.required = false
    } else add(plainAtom())
  }
  return false
}
