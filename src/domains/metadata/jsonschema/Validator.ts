/**
 * Checks values against schemas that `SchemaSafety.ts` accepted. An interpreter: it generates no code, shares nothing
 * between schemas, and counts its work, so that the worst schema stops at a bound instead of stopping the service.
 * `format` and `content...` are annotations and assert nothing, as 2020-12 has it by default. Pure.
 */
import { createHash } from "node:crypto"
import { canonical } from "./Equality.ts"
import { rules } from "./Keywords.ts"
import type { Moment, Seen } from "./EvaluationContext.ts"
import { compilePattern } from "./Pattern.ts"
import type { Pattern } from "./Pattern.ts"
import { below } from "./JsonPointer.ts"
import { indexOf, isKeywords, targetOf } from "./Subschemas.ts"
import type { Index, Keywords } from "./Subschemas.ts"
import { TooMuchWork, Work } from "./WorkBudget.ts"

/** A fault of a value: where in it, as a JSON pointer, and what is wrong there. */
export interface ValueFault {
  readonly pointer: string
  readonly message: string
}

const MOST_FAULTS = 20
const DEEPEST = 400

type Step = (moment: Moment) => boolean

/** A schema made ready for checks. What it needs is made at first use and kept. */
class Prepared {
  readonly root: unknown
  /** Whether any schema asks what others have looked at. */
  readonly tracks: boolean
  readonly #index: Index
  readonly #steps = new Map<Keywords, ReadonlyArray<Step>>()
  readonly #patterns = new Map<string, Pattern>()
  readonly #texts = new Map<unknown, ReadonlySet<string>>()

  constructor(root: unknown) {
    this.root = root
    this.#index = indexOf(root)
    this.tracks = [...this.#index.byPointer.values()].some(
      (schema) =>
        isKeywords(schema) &&
        (Object.hasOwn(schema, "unevaluatedItems") || Object.hasOwn(schema, "unevaluatedProperties")),
    )
  }

  stepsOf(schema: Keywords): ReadonlyArray<Step> {
    const known = this.#steps.get(schema)
    if (known !== undefined) return known
    const steps = rules
      .filter(([keyword]) => Object.hasOwn(schema, keyword))
      .map(([keyword, rule]): Step => {
        const argument = schema[keyword] as never
        return (moment) => rule(argument, moment)
      })
    this.#steps.set(schema, steps)
    return steps
  }

  pattern(source: string): Pattern {
    const known = this.#patterns.get(source)
    if (known !== undefined) return known
    const pattern = compilePattern(source)
    if (typeof pattern === "string") throw new Error(`A schema with a refused pattern was stored: ${pattern}`)
    this.#patterns.set(source, pattern)
    return pattern
  }

  texts(values: ReadonlyArray<unknown>): ReadonlySet<string> {
    const known = this.#texts.get(values)
    if (known !== undefined) return known
    const texts = new Set(values.map(canonical))
    this.#texts.set(values, texts)
    return texts
  }

  target(reference: string): unknown {
    const pointer = targetOf(this.#index, reference)
    if (pointer === undefined) throw new Error(`A schema with a dangling reference was stored: ${reference}`)
    return this.#index.byPointer.get(pointer)
  }
}

const CACHED = 256
const cache = new Map<string, Prepared>()

// Two schemas share an entry exactly if their texts are equal, so nothing of one reaches another.
const preparedOf = (schema: unknown): Prepared => {
  const key = createHash("sha256").update(JSON.stringify(schema)).digest("base64")
  const prepared = cache.get(key) ?? new Prepared(schema)
  cache.delete(key)
  cache.set(key, prepared)
  const oldest = cache.keys().next()
  if (cache.size > CACHED && oldest.done !== true) cache.delete(oldest.value)
  return prepared
}

interface Run {
  readonly prepared: Prepared
  readonly work: Work
  readonly faults: Array<ValueFault>
  depth: number
}

const noSeen = (run: Run): Seen | undefined =>
  run.prepared.tracks ? { members: new Set(), items: new Set() } : undefined

const judge = (run: Run, schema: unknown, value: unknown, pointer: string, told: boolean, seen: Seen | undefined) => {
  run.work.spend(2)
  const fail = (message: string): false => {
    if (told && run.faults.length < MOST_FAULTS) run.faults.push({ pointer, message })
    return false
  }
  if (schema === false) return fail("is not allowed here")
  if (!isKeywords(schema)) return true
  if (run.depth > DEEPEST) throw new TooMuchWork()
  const same = (inner: unknown, innerTold: boolean) => {
    const innerSeen = noSeen(run)
    if (!judge(run, inner, value, pointer, innerTold, innerSeen)) return false
    if (seen !== undefined && innerSeen !== undefined) {
      run.work.spend((innerSeen.members.size + innerSeen.items.size) / 8)
      for (const key of innerSeen.members) seen.members.add(key)
      for (const index of innerSeen.items) seen.items.add(index)
    }
    return true
  }
  const moment: Moment = {
    schema,
    value,
    work: run.work,
    seen,
    told,
    fail,
    same,
    apart: (inner) => judge(run, inner, value, pointer, false, noSeen(run)),
    part: (inner, key, innerValue, innerTold) =>
      judge(run, inner, innerValue, innerTold ? below(pointer, key) : pointer, innerTold, noSeen(run)),
    pattern: (source) => run.prepared.pattern(source),
    texts: (values) => run.prepared.texts(values),
    target: (reference) => run.prepared.target(reference),
  }
  run.depth++
  let ok = true
  for (const step of run.prepared.stepsOf(schema)) {
    run.work.spend(1)
    if (step(moment)) continue
    ok = false
    if (!told || run.faults.length >= MOST_FAULTS) break
  }
  run.depth--
  return ok
}

/** What is wrong with a value by a schema; nothing if it is valid. All values of one write share the work. */
export const validate = (schema: unknown, value: unknown, work: Work = new Work()): ReadonlyArray<ValueFault> => {
  const run: Run = { prepared: preparedOf(schema), work, faults: [], depth: 0 }
  try {
    return judge(run, schema, value, "", true, noSeen(run)) ? [] : run.faults
  } catch (error) {
    if (error instanceof TooMuchWork) {
      return [{ pointer: "", message: "takes more work to check against its schema than is allowed" }]
    }
    throw error
  }
}
