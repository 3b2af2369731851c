/** What a zone's metadata may hold. Pure. */
import type { ProblemFault } from "../kernel/Problem.ts"

/**
 * Faults of the keys that no metadata field defines (contract, section 5). Metadata fields do not exist yet, so every
 * key is unknown.
 */
export const unknownMetadata = (metadata: Readonly<Record<string, unknown>>): ReadonlyArray<ProblemFault> =>
  Object.entries(metadata).map(([key, value]) => ({
    location: `body.metadata.${key}`,
    message: "names no metadata field of deployment zones",
    value,
  }))
