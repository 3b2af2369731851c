/** What a release may link. Pure. */
import type { ProblemFault } from "../../kernel/contract/Problem.ts"

const at = (index: number): string => `body.componentIds[${index}]`

/** Faults of the ids that stand in the list before. Ids are compared in lower case. */
export const repeatedComponents = (ids: ReadonlyArray<string>): ReadonlyArray<ProblemFault> =>
  ids.flatMap((id, index) =>
    ids.indexOf(id) < index ? [{ location: at(index), message: "is in the list already", value: id }] : [],
  )

/** Faults of the ids that name no component. */
export const unknownComponents = (
  ids: ReadonlyArray<string>,
  found: ReadonlySet<string>,
): ReadonlyArray<ProblemFault> =>
  ids.flatMap((id, index) => (found.has(id) ? [] : [{ location: at(index), message: "names no component", value: id }]))
