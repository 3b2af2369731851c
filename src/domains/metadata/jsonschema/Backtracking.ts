/** Regular expressions that backtracking engines match in exponential time. Pure. */

/**
 * One part of an ECMA-262 pattern: a category, an escape, a counted repetition, the opening of a group, or one character. A
 * character class is several parts.
 */
export const PATTERN_TOKEN =
  /\\[pP]\{(?<category>[^}]*)\}|\\(?:u\{[^}]*\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[A-Za-z]|k<[^>]*>|[\s\S])|\{(?<least>\d+)(?:,(?<most>\d*))?\}|\(\?(?:<?[=!]|[a-z-]*:|<[^>]*>)|[\s\S]/gu

/** What follows one another without a `|`. */
interface Branch {
  /** Parts that may be repeated without end, and how many of them must be there. */
  endless: number
  endlessDue: number
  /** The other parts that must be there. */
  due: number
}

/** One part of a branch, and what its repetition makes of it. */
interface Part {
  readonly loose: boolean
  endless: boolean
  due: boolean
  repeated: boolean
}

interface Group {
  readonly done: Array<Branch>
  branch: Branch
  last: Part | undefined
}

const emptyBranch = (): Branch => ({ endless: 0, endlessDue: 0, due: 0 })

const close = (group: Group): void => {
  const { branch, last } = group
  group.last = undefined
  if (last === undefined) return
  if (last.endless) {
    branch.endless += 1
    if (last.due) branch.endlessDue += 1
  } else if (last.due) branch.due += 1
}

// One endless part, and nothing else that must be there: repeating this reads a long text in ever so many ways.
const isLoose = ({ due, endless, endlessDue }: Branch): boolean => endless > 0 && due === 0 && endlessDue <= 1

const canBeEmpty = ({ due, endlessDue }: Branch): boolean => due === 0 && endlessDue === 0

/**
 * Whether a valid pattern repeats without end what is itself an endless repetition, as `(a+)+` and `(\w+\s?)*` do. RE2
 * matches these like others, but readers of a schema use their own engines, and most of those backtrack. Each pattern that it
 * names is ambiguous without bound; not every such pattern is named.
 */
export const repeatsEndlessly = (source: string): boolean => {
  const root: Group = { done: [], branch: emptyBranch(), last: undefined }
  const open: Array<Group> = [root]
  let inClass = false
  const add = (part: Part) => {
    const group = open.at(-1) ?? root
    close(group)
    group.last = part
  }
  const plain = (): Part => ({ loose: false, endless: false, due: true, repeated: false })
  for (const match of source.matchAll(PATTERN_TOKEN)) {
    const token = match[0]
    const { least, most } = match.groups ?? {}
    const { last } = open.at(-1) ?? root
    if (inClass) inClass = token !== "]"
    else if (token === "[") {
      inClass = true
      add(plain())
    } else if (token.startsWith("(")) {
      open.push({ done: [], branch: emptyBranch(), last: undefined })
    } else if (token === "|" || token === ")") {
      const group = open.at(-1) ?? root
      close(group)
      group.done.push(group.branch)
      group.branch = emptyBranch()
      if (token === "|") continue
      open.pop()
      const loose = group.done.some(isLoose)
      add({ loose, endless: loose, due: !group.done.some(canBeEmpty), repeated: false })
    } else if (/^[*+?]$/.test(token) || least !== undefined) {
      // A question mark behind a repetition only makes it lazy.
      if (last === undefined || last.repeated) continue
      const endless = token === "*" || token === "+" || most === ""
      if (endless && last.loose) return true
      last.repeated = true
      last.endless ||= endless
      if (token === "*" || token === "?" || Number(least) === 0) last.due = false
    } else add(plain())
  }
  return false
}
