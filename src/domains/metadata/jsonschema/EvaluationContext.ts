/** What a keyword of a schema works with when it judges a value. */
import type { Pattern } from "./Pattern.ts"
import type { Keywords } from "./Subschemas.ts"
import type { Work } from "./WorkBudget.ts"

/** The members and items of a value that a schema has looked at: `unevaluated...` speaks of the others. */
export interface Seen {
  readonly members: Set<string>
  readonly items: Set<number>
}

/** What a keyword works with: its schema, the value, and how further schemas are asked. */
export interface Moment {
  readonly schema: Keywords
  readonly value: unknown
  readonly work: Work
  /** What was looked at so far; absent if no schema asks. */
  readonly seen: Seen | undefined
  /** Whether anybody reads the faults: alternatives that may fail tell none. */
  readonly told: boolean
  /** Records a fault at the value; always `false`. */
  readonly fail: (message: string) => false
  /** Judges the same value by another schema, and takes over what that looked at if it holds. */
  readonly same: (schema: unknown, told: boolean) => boolean
  /** Judges the same value by a schema that only has to fail. */
  readonly apart: (schema: unknown) => boolean
  /** Judges a member, its name, or an item. */
  readonly part: (schema: unknown, key: string | number, value: unknown, told: boolean) => boolean
  readonly pattern: (source: string) => Pattern
  /** The canonical texts of an `enum`. */
  readonly texts: (values: ReadonlyArray<unknown>) => ReadonlySet<string>
  /** The schema that a reference names. */
  readonly target: (reference: string) => unknown
}
