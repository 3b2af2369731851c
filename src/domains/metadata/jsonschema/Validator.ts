/**
 * Validates values against schemas that `SchemaSafety.ts` accepted. It is an interpreter: it generates no code, shares
 * nothing between schemas, and spends a budget, so that an expensive schema cannot block the service. `format` and
 * `content...` are annotations without assertions, the default of 2020-12. Pure.
 */
import { createHash } from "node:crypto"
import { canonical } from "./Equality.ts"
import { rules } from "./Keywords.ts"
import type { EvaluationContext, Evaluated } from "./EvaluationContext.ts"
import { compilePattern } from "./Pattern.ts"
import type { Pattern } from "./Pattern.ts"
import { childPointer } from "./JsonPointer.ts"
import { indexOf, isKeywords, targetOf } from "./Subschemas.ts"
import type { Index, Keywords } from "./Subschemas.ts"
import { BudgetExceeded, Budget } from "./WorkBudget.ts"

/** A validation error: the JSON pointer of its place in the value, and the message. */
export interface ValueError {
  readonly pointer: string
  readonly message: string
}

const MAX_ERRORS = 20
const MAX_DEPTH = 400

type Step = (context: EvaluationContext) => boolean

/** A schema prepared for validation. Its parts are compiled at first use and cached. */
class Prepared {
  readonly root: unknown
  /** Whether any subschema needs to know which properties and items were evaluated. */
  readonly tracksEvaluated: boolean
  readonly #index: Index
  readonly #steps = new Map<Keywords, ReadonlyArray<Step>>()
  readonly #patterns = new Map<string, Pattern>()
  readonly #texts = new Map<unknown, ReadonlySet<string>>()

  constructor(root: unknown) {
    this.root = root
    this.#index = indexOf(root)
    this.tracksEvaluated = [...this.#index.byPointer.values()].some(
      (schema) =>
        isKeywords(schema) &&
        (Object.hasOwn(schema, "unevaluatedItems") || Object.hasOwn(schema, "unevaluatedProperties")),
    )
  }

  stepsOf(schema: Keywords): ReadonlyArray<Step> {
    const cached = this.#steps.get(schema)
    if (cached !== undefined) return cached
    const steps = rules
      .filter(([keyword]) => Object.hasOwn(schema, keyword))
      .map(([keyword, rule]): Step => {
        const argument = schema[keyword] as never
        return (context) => rule(argument, context)
      })
    this.#steps.set(schema, steps)
    return steps
  }

  pattern(source: string): Pattern {
    const cached = this.#patterns.get(source)
    if (cached !== undefined) return cached
    const pattern = compilePattern(source)
    if (typeof pattern === "string") throw new Error(`A stored schema has an invalid pattern: it ${pattern}`)
    this.#patterns.set(source, pattern)
    return pattern
  }

  canonicalTexts(values: ReadonlyArray<unknown>): ReadonlySet<string> {
    const cached = this.#texts.get(values)
    if (cached !== undefined) return cached
    const texts = new Set(values.map(canonical))
    this.#texts.set(values, texts)
    return texts
  }

  resolve(reference: string): unknown {
    const pointer = targetOf(this.#index, reference)
    if (pointer === undefined) throw new Error(`A stored schema has a dangling reference: ${reference}`)
    return this.#index.byPointer.get(pointer)
  }
}

const MAX_CACHED_SCHEMAS = 256
const cache = new Map<string, Prepared>()

// The key is a hash of the whole schema: two schemas share an entry only if their texts are equal.
const preparedOf = (schema: unknown): Prepared => {
  const key = createHash("sha256").update(JSON.stringify(schema)).digest("base64")
  const prepared = cache.get(key) ?? new Prepared(schema)
  cache.delete(key)
  cache.set(key, prepared)
  const oldest = cache.keys().next()
  if (cache.size > MAX_CACHED_SCHEMAS && oldest.done !== true) cache.delete(oldest.value)
  return prepared
}

interface Run {
  readonly prepared: Prepared
  readonly budget: Budget
  readonly errors: Array<ValueError>
  depth: number
}

const noneEvaluated = (run: Run): Evaluated | undefined =>
  run.prepared.tracksEvaluated ? { properties: new Set(), items: new Set() } : undefined

const evaluate = (
  run: Run,
  schema: unknown,
  value: unknown,
  pointer: string,
  reporting: boolean,
  evaluated: Evaluated | undefined,
) => {
  run.budget.spend(2)
  const fail = (message: string): false => {
    if (reporting && run.errors.length < MAX_ERRORS) run.errors.push({ pointer, message })
    return false
  }
  if (schema === false) return fail("is not allowed here")
  if (!isKeywords(schema)) return true
  if (run.depth > MAX_DEPTH) throw new BudgetExceeded()
  const applyInPlace = (inner: unknown, innerReporting: boolean) => {
    const innerEvaluated = noneEvaluated(run)
    if (!evaluate(run, inner, value, pointer, innerReporting, innerEvaluated)) return false
    if (evaluated !== undefined && innerEvaluated !== undefined) {
      run.budget.spend((innerEvaluated.properties.size + innerEvaluated.items.size) / 8)
      for (const key of innerEvaluated.properties) evaluated.properties.add(key)
      for (const index of innerEvaluated.items) evaluated.items.add(index)
    }
    return true
  }
  const context: EvaluationContext = {
    schema,
    value,
    budget: run.budget,
    evaluated,
    reporting,
    fail,
    applyInPlace,
    testInPlace: (inner) => evaluate(run, inner, value, pointer, false, noneEvaluated(run)),
    applyToChild: (inner, key, child, childReporting) =>
      evaluate(
        run,
        inner,
        child,
        childReporting ? childPointer(pointer, key) : pointer,
        childReporting,
        noneEvaluated(run),
      ),
    pattern: (source) => run.prepared.pattern(source),
    canonicalTexts: (values) => run.prepared.canonicalTexts(values),
    resolve: (reference) => run.prepared.resolve(reference),
  }
  run.depth++
  let valid = true
  for (const step of run.prepared.stepsOf(schema)) {
    run.budget.spend(1)
    if (step(context)) continue
    valid = false
    if (!reporting || run.errors.length >= MAX_ERRORS) break
  }
  run.depth--
  return valid
}

/**
 * Returns the validation errors of a value, or an empty list if it is valid. All values of one write share a budget.
 */
export const validate = (schema: unknown, value: unknown, budget: Budget = new Budget()): ReadonlyArray<ValueError> => {
  const run: Run = { prepared: preparedOf(schema), budget, errors: [], depth: 0 }
  try {
    return evaluate(run, schema, value, "", true, noneEvaluated(run)) ? [] : run.errors
  } catch (error) {
    if (error instanceof BudgetExceeded) {
      return [{ pointer: "", message: "is too expensive to check against its schema" }]
    }
    throw error
  }
}
