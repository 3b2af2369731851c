/** What streams of changes need to know of records that later domains own. */
import { Context } from "effect"
import type { Effect } from "effect"
import type { Assignment, CredentialState, FollowerCredential } from "./Model.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"

/** An instance by its slug. */
export interface InstanceName {
  readonly organizationId: OrganizationId
  readonly slug: string
}

/** Reads instances and credentials. The domain `instances` provides it. */
export class Followers extends Context.Service<
  Followers,
  {
    /** What instances belong to. Those that do not exist are left out. */
    readonly assignments: (
      names: ReadonlyArray<InstanceName>,
    ) => Effect.Effect<ReadonlyArray<Assignment & { readonly organizationId: OrganizationId }>>
    /** The live ones of these credentials. */
    readonly live: (credentials: ReadonlyArray<FollowerCredential>) => Effect.Effect<ReadonlyArray<CredentialState>>
  }
>()("keyshelf/events/Followers") {}
