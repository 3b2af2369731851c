/** Finds the instance that a request is about. */
import { Effect } from "effect"
import { Caller } from "../../kernel/contract/Caller.ts"
import { invalidCredential } from "../../kernel/contract/Problem.ts"
import type { Edge } from "../Edge.ts"
import type { EdgeInstance } from "../instances/EdgeInstance.ts"

const settled = (used: EdgeInstance | Promise<EdgeInstance>): Effect.Effect<EdgeInstance> =>
  used instanceof Promise ? Effect.promise(() => used) : Effect.succeed(used)

/** An instance, as the caller's credential sees it. */
export const useInstance = (
  { credentials, instances }: Pick<Edge["Service"], "credentials" | "instances">,
  slug: string,
) =>
  Effect.flatMap(Caller, ({ credentialId }) => {
    const credential = credentials.byId(credentialId)
    // Removed from the file while the request was on its way.
    return credential === undefined ? Effect.fail(invalidCredential()) : settled(instances.use(credential, slug))
  })
