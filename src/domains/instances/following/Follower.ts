/** Who follows changes: the request of a caller. */
import type { Caller } from "../../../kernel/contract/Caller.ts"
import type { FollowRequest } from "../../events/changes/Model.ts"

/** The request of a caller for some instances, or for all. A license key follows its own instance. */
export const followerOf = (
  { confinedTo, credentialId, expiresAt, organizationId, role }: Caller["Service"],
  instances: ReadonlyArray<string> | undefined,
): FollowRequest => ({
  credential: { organizationId, id: credentialId, kind: role === undefined ? "token" : "membership" },
  confinedTo: confinedTo?.slug,
  instances: confinedTo === undefined ? instances : [confinedTo.slug],
  endsAt: expiresAt?.getTime() ?? Infinity,
})
