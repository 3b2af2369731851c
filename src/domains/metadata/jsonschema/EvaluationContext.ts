/** The evaluation context of a schema's keywords. */
import type { Pattern } from "./Pattern.ts"
import type { Keywords } from "./Subschemas.ts"
import type { Budget } from "./WorkBudget.ts"

/** The properties and items that a schema has evaluated. `unevaluated...` applies to the remaining ones. */
export interface Evaluated {
  readonly properties: Set<string>
  readonly items: Set<number>
}

/** The evaluation context of a keyword: its schema, the value, and functions that apply subschemas. */
export interface EvaluationContext {
  readonly schema: Keywords
  readonly value: unknown
  readonly budget: Budget
  /** The properties and items evaluated so far, or `undefined` if no schema needs them. */
  readonly evaluated: Evaluated | undefined
  /** Whether errors are reported. Alternatives that may fail do not report them. */
  readonly reporting: boolean
  /** Records an error at the value and returns false. */
  readonly fail: (message: string) => false
  /** Applies a schema to the same value. If it is valid, adds what the schema evaluated. */
  readonly applyInPlace: (schema: unknown, reporting: boolean) => boolean
  /** Applies the schema of `not` to the same value, without errors and without evaluated properties. */
  readonly testInPlace: (schema: unknown) => boolean
  /** Applies a schema to a property, a property name, or an item. */
  readonly applyToChild: (schema: unknown, key: string | number, value: unknown, reporting: boolean) => boolean
  /** Compiles a pattern, with a cache. */
  readonly pattern: (source: string) => Pattern
  /** The canonical texts of the values of an `enum`. */
  readonly canonicalTexts: (values: ReadonlyArray<unknown>) => ReadonlySet<string>
  /** Returns the schema that a reference names. */
  readonly resolve: (reference: string) => unknown
}
