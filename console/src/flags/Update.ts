/** Changing a flag. Lists are replaced as a whole, so a change is only made to the flag that the person saw. */
import { useQueryClient } from "@tanstack/react-query"
import { useEffect } from "react"
import { Problem } from "../kernel/Api.ts"
import type { Body, FeatureFlag } from "../kernel/Contract.ts"
import { useWrite } from "../kernel/Queries.ts"
import { errorAt } from "../widgets/forms/Form.tsx"
import { t } from "./texts.en.ts"

export const STALE = { stale: ["/api/feature-flags"] }

type Change = Body<"PUT /api/feature-flags/:key">

/** Writes changes of a flag. If the flag was changed in the meantime, nothing is written, and the page reads it again. */
export const useUpdate = (flag: FeatureFlag | undefined, done?: () => void) => {
  const queries = useQueryClient()
  const write = useWrite("PUT /api/feature-flags/:key", { ...STALE, ...(done === undefined ? {} : { done }) })
  const { error } = write
  const isConflict = errorAt(error, "updatedAt") !== undefined
  useEffect(() => {
    if (isConflict) void queries.invalidateQueries({ queryKey: ["/api/feature-flags/:key"] })
  }, [isConflict, queries])
  return {
    isPending: write.isPending,
    error:
      isConflict && error instanceof Problem ? new Problem(error.status, error.code, t.changedTitle, t.changed) : error,
    change: (change: Change) => {
      if (flag === undefined) return
      // The service compares what cannot be changed with what is stored (contract, part 2, section 10).
      const body = { ...change, updatedAt: flag.updatedAt }
      write.mutate({ params: { key: flag.key }, body })
    },
  }
}
