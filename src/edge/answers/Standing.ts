/** By what an edge can answer for an instance now. */
import type { View } from "../../local/index.ts"
import type { Claims } from "../../offline/Model.ts"
import type { EdgeInstance } from "../instances/EdgeInstance.ts"
import type { OriginProblem } from "../origin/Replies.ts"

/** What answers: the snapshot, a problem of the origin, or nothing. */
type Standing =
  | { readonly by: "snapshot"; readonly claims: Claims; readonly view: View }
  /** `undefined`: the origin ended the access before this process began. */
  | { readonly by: "problem"; readonly problem: OriginProblem | undefined }
  | { readonly by: "nothing" }

/** What an edge has for an instance now. */
export const standingOf = ({ local, problem }: EdgeInstance): Standing => {
  const view = local.view()
  const { failure, snapshot, state } = view
  if (state === "REVOKED") return { by: "problem", problem: problem() }
  if (snapshot !== undefined && state !== "CLOSED") return { by: "snapshot", claims: snapshot.claims, view }
  return failure?.type === "problem" && problem() !== undefined
    ? { by: "problem", problem: problem() }
    : { by: "nothing" }
}

/** Whether a snapshot names an entitlement, or can say that there is none. One with very many entitlements cannot. */
export const knows = ({ complete, entitlements }: Claims, slug: string): boolean =>
  complete === true || entitlements.some((entitlement) => entitlement.slug === slug)
