/**
 * Records that clients can write back as they read them: the body of a PUT or PATCH may have properties of the record
 * that cannot be changed, if they equal the stored values.
 */
import { Equal, Schema } from "effect"
import type { Effect } from "effect"
import { failWithErrors } from "./Problem.ts"
import type { ValidationFailed } from "./Problem.ts"

interface Fields {
  readonly fields: Schema.Struct.Fields
}

/** The description of the properties that an update cannot change. */
export const CANNOT_BE_CHANGED = "Cannot be changed: must equal what is stored, if sent"

// Compared with the stored value, which is valid: any other value is wrong.
const unchanged = Schema.optionalKey(Schema.Unknown.annotate({ readOnly: true, description: CANNOT_BE_CHANGED }))

/** The body of an update: what it can change, and the other properties of the record. */
export const rewritable = <const Update extends Schema.Struct.Fields>(
  record: Fields,
  update: Schema.Struct<Update>,
): Schema.Struct<Update> => {
  const others = Object.keys(record.fields).filter((name) => !Object.hasOwn(update.fields, name))
  const fields = { ...update.fields, ...Object.fromEntries(others.map((name) => [name, unchanged])) }
  // Handlers see only what can be changed. `requireUnchanged` and `changesIn` handle the others.
  return Schema.Struct(fields).annotate({ ...update.ast.annotations }) as unknown as Schema.Struct<Update>
}

const jsonOf = (value: unknown): unknown => (value === undefined ? undefined : JSON.parse(JSON.stringify(value)))

const MAX_ECHO_LENGTH = 1024

const echo = (value: unknown) =>
  typeof value === "object" || (typeof value === "string" && value.length > MAX_ECHO_LENGTH) ? {} : { value }

/** Fails if a body has another value for a property that it cannot change. The caller must hold the record's lock. */
export const requireUnchanged = (
  update: Fields,
  current: object,
  sent: object,
): Effect.Effect<void, ValidationFailed> =>
  failWithErrors(
    Object.entries(sent).flatMap(([name, value]) =>
      Object.hasOwn(update.fields, name) || Equal.equals(jsonOf(Reflect.get(current, name)), value)
        ? []
        : [{ location: `body.${name}`, message: "must equal what is stored or be omitted", ...echo(value) }],
    ),
  )

/** What a body changes, without the other properties. */
export const changesIn = <A extends object>(update: Fields, sent: A): A =>
  Object.fromEntries(Object.entries(sent).filter(([name]) => Object.hasOwn(update.fields, name))) as A
