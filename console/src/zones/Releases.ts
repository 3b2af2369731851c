/** The releases that a zone can run. */
import type { Release } from "../kernel/Contract.ts"
import { useAllRows, useRows } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import type { Candidate } from "../widgets/forms/Pick.tsx"

/** All releases: zones name theirs by its id, which has no path of its own. */
export const useReleases = (): ReadonlyArray<Release> => {
  const isAllowed = useCan("read:releases")
  return useAllRows(useRows("GET /api/releases", {}, { when: isAllowed }), isAllowed).rows ?? []
}

/** A release as a choice. */
export const candidateOf = ({ description, id, version }: Release): Candidate => ({
  id,
  title: version,
  ...(description === null ? {} : { detail: description }),
})
