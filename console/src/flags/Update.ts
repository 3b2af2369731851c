/** Changing a flag. Lists are replaced as a whole, so a change is only made to the flag that the person saw. */
import { useQueryClient } from "@tanstack/react-query"
import { useEffect } from "react"
import { call, Problem } from "../kernel/Api.ts"
import type { Body, FeatureFlag } from "../kernel/Contract.ts"
import { isOutdated } from "../kernel/forms/Edit.ts"
import { useWrite } from "../kernel/Queries.ts"
import { t } from "./texts.en.ts"

export const STALE = { stale: ["/api/feature-flags"] }

type Change = Body<"PUT /api/feature-flags/:key">

/** What forms of a flag need, whatever they change. */
export const updateOf = (key: string) => ({
  ...STALE,
  read: () => call("GET /api/feature-flags/:key", { params: { key } }),
  request: (body: Change) => ({ params: { key }, body }),
})

/**
 * Writes a change that a press makes of what the page shows. If the flag was changed in the meantime, nothing is written, and the
 * page reads it again. Forms, which are open for longer, have `updateOf`.
 */
export const useUpdate = (flag: FeatureFlag, done?: () => void) => {
  const queries = useQueryClient()
  const write = useWrite("PUT /api/feature-flags/:key", { ...STALE, ...(done === undefined ? {} : { done }) })
  const { error } = write
  const isConflict = isOutdated(error)
  useEffect(() => {
    if (isConflict) void queries.invalidateQueries({ queryKey: ["/api/feature-flags/:key"] })
  }, [isConflict, queries])
  return {
    isPending: write.isPending,
    draft: write.draft,
    error:
      isConflict && error instanceof Problem ? new Problem(error.status, error.code, t.changedTitle, t.changed) : error,
    change: (change: Change) => {
      // `updatedAt` cannot be changed. The service rejects a value other than the stored one, so an outdated change fails.
      const body = { ...change, updatedAt: flag.updatedAt }
      write.mutate({ params: { key: flag.key }, body })
    },
  }
}
