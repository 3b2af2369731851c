/** The port by which entitlements are created as members of groups. The domain `groups` provides it. */
import { Context } from "effect"
import type { Effect } from "effect"
import type { Caller } from "../../kernel/contract/Caller.ts"
import type { ValidationFailed } from "../../kernel/contract/Problem.ts"
import type { Entitlement } from "./Model.ts"

/** The groups of a new entitlement, locked. */
export interface NewMemberships {
  /** Sorted by slug. */
  readonly groups: Entitlement["entitlementGroups"]
  /** Adds the stored entitlement to the groups, within the transaction of {@link GroupMemberships}. */
  readonly join: (entitlementId: string) => Effect.Effect<void, never, Caller>
}

/** Creates entitlements as members of groups. */
export class GroupMemberships extends Context.Service<
  GroupMemberships,
  {
    /** Runs a creation that joins the groups with these slugs. All commits or nothing. */
    readonly creating: <A, E, R>(
      groupSlugs: ReadonlyArray<string>,
      create: (memberships: NewMemberships) => Effect.Effect<A, E, R>,
    ) => Effect.Effect<A, E | ValidationFailed, R | Caller>
  }
>()("keyshelf/entitlements/GroupMemberships") {}
