/** Validation of the components of a release. Pure. */
import type { ValidationError } from "../../kernel/contract/Problem.ts"

const at = (index: number): string => `body.componentIds[${index}]`

/** Validation errors for ids that occur earlier in the list. Expects ids in lower case. */
export const repeatedComponentErrors = (ids: ReadonlyArray<string>): ReadonlyArray<ValidationError> =>
  ids.flatMap((id, index) =>
    ids.indexOf(id) < index ? [{ location: at(index), message: "must not repeat an earlier id", value: id }] : [],
  )

/** Validation errors for ids that were not found. */
export const unknownComponentErrors = (
  ids: ReadonlyArray<string>,
  found: ReadonlySet<string>,
): ReadonlyArray<ValidationError> =>
  ids.flatMap((id, index) =>
    found.has(id) ? [] : [{ location: at(index), message: "must be the id of an existing component", value: id }],
  )
