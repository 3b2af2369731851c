/** Validates the metadata of zones and instances by their fields. Pure. */
import type { ValidationError } from "../../kernel/contract/Problem.ts"
import { canonical } from "./jsonschema/Equality.ts"
import { validate } from "./jsonschema/Validator.ts"
import { Budget } from "./jsonschema/WorkBudget.ts"

/** A field that validates a value. */
interface FieldRule {
  readonly key: string
  readonly jsonSchema: unknown
  readonly archivedAt: Date | null
}

type Metadata = Readonly<Record<string, unknown>>

const MAX_ECHO_LENGTH = 1024

/** The sent value for a validation error, unless it is too long. */
export const echoOf = (value: unknown): { readonly value?: unknown } =>
  (JSON.stringify(value) ?? "").length > MAX_ECHO_LENGTH ? {} : { value }

/** Whether two values are equal as JSON. */
export const isEqualJson = (left: unknown, right: unknown): boolean => canonical(left) === canonical(right)

/**
 * Returns the validation errors of metadata. Every value of an active field is validated, even if it did not change. A
 * value of an archived field can only be retained or removed. If a key has both an active and an archived field, the active
 * one applies.
 */
export const metadataErrors = (fields: ReadonlyArray<FieldRule>, before: Metadata, after: Metadata) => {
  const budget = new Budget()
  return Object.entries(after).flatMap(([key, value]): ReadonlyArray<ValidationError> => {
    const fieldsOfKey = fields.filter((field) => field.key === key)
    const active = fieldsOfKey.find(({ archivedAt }) => archivedAt === null)
    const location = `body.metadata.${key}`
    if (active !== undefined) {
      return validate(active.jsonSchema, value, budget).map(({ message, pointer }) => ({
        location: location + pointer,
        message,
        ...(pointer === "" ? echoOf(value) : {}),
      }))
    }
    if (fieldsOfKey.length === 0) {
      return [{ location, message: "must be the key of a metadata field", ...echoOf(value) }]
    }
    if (Object.hasOwn(before, key) && isEqualJson(before[key], value)) return []
    return [
      {
        location,
        message: "must be the stored value or be omitted: the field is archived",
        ...echoOf(value),
      },
    ]
  })
}
