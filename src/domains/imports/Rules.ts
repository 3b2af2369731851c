/** What a row changes of a record that exists. Pure. */
import { Equal } from "effect"
import type { ValidationError } from "../../kernel/contract/Problem.ts"

const isSame = (one: unknown, other: unknown): boolean =>
  one instanceof Date && other instanceof Date ? one.getTime() === other.getTime() : Equal.equals(one, other)

/** Those properties of a row that differ from the record. */
export const differences = (
  record: object,
  row: Readonly<Record<string, unknown>>,
  names: ReadonlyArray<string>,
): Record<string, unknown> =>
  Object.fromEntries(
    names.flatMap((name) =>
      row[name] === undefined || isSame(row[name], Reflect.get(record, name)) ? [] : [[name, row[name]] as const],
    ),
  )

/** The changes, which are rejected at `body.updatedAt` if the record has changed since it was found. */
export const asFound = (
  changes: Readonly<Record<string, unknown>>,
  { updatedAt }: { readonly updatedAt: Date },
): Record<string, unknown> => ({ ...changes, updatedAt: updatedAt.toISOString() })

// As it was sent: a time was decoded.
const sentValue = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

/** The errors of a row as errors of the request: `body.name` becomes `body.rows[3].name`. */
export const errorsOfRow = (errors: ReadonlyArray<ValidationError>, index: number): ReadonlyArray<ValidationError> =>
  errors.map(({ location, message, value }) => ({
    location: location.replace(/^(body|path)/, `body.rows[${index}]`),
    message,
    ...(value === undefined ? {} : { value: sentValue(value) }),
  }))
