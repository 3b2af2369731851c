/** What the metadata of a zone or an instance may hold (contract, section 5). Pure. */
import type { ProblemFault } from "../../kernel/contract/Problem.ts"
import { canonical } from "./jsonschema/Equality.ts"
import { validate } from "./jsonschema/Validator.ts"
import { Work } from "./jsonschema/WorkBudget.ts"

/** A field that decides about a value. */
export interface FieldRule {
  readonly key: string
  readonly jsonSchema: unknown
  readonly archivedAt: Date | null
}

type Metadata = Readonly<Record<string, unknown>>

const LONGEST_ECHO = 1024

/** The value that was sent, unless it is long. */
export const echoOf = (value: unknown): { readonly value?: unknown } =>
  (JSON.stringify(value) ?? "").length > LONGEST_ECHO ? {} : { value }

/** Whether two values are equal as JSON. */
export const isSame = (one: unknown, other: unknown): boolean => canonical(one) === canonical(other)

/**
 * Faults of metadata by the fields of its keys. Every value of an active field is checked, also one that stays as it
 * was; a value of an archived field may stay or go. Where a key has an active field, that one decides.
 */
export const valueFaults = (fields: ReadonlyArray<FieldRule>, before: Metadata, after: Metadata) => {
  const work = new Work()
  return Object.entries(after).flatMap(([key, value]): ReadonlyArray<ProblemFault> => {
    const ofKey = fields.filter((field) => field.key === key)
    const active = ofKey.find(({ archivedAt }) => archivedAt === null)
    const location = `body.metadata.${key}`
    if (active !== undefined) {
      return validate(active.jsonSchema, value, work).map(({ message, pointer }) => ({
        location: location + pointer,
        message,
        ...(pointer === "" ? echoOf(value) : {}),
      }))
    }
    if (ofKey.length === 0) return [{ location, message: "is not the key of a metadata field", ...echoOf(value) }]
    if (Object.hasOwn(before, key) && isSame(before[key], value)) return []
    return [{ location, message: "belongs to an archived field: it may stay as it was or go", ...echoOf(value) }]
  })
}
