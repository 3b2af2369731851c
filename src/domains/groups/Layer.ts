/** The layer of entitlement groups. */
import { Effect, Layer } from "effect"
import { GroupMemberships } from "../entitlements/GroupMemberships.ts"
import { groupsSql } from "./MembersSql.ts"
import { EntitlementGroupsRepo } from "./Repo.ts"
import { EntitlementGroups } from "./Service.ts"

/** What this domain provides to earlier ones. */
export const ports = groupsSql

const memberships = Layer.effect(
  GroupMemberships,
  Effect.map(EntitlementGroups, ({ creating }) => ({ creating })),
)

/** The services of this domain on their repositories. */
export const layer = memberships.pipe(
  Layer.provideMerge(EntitlementGroups.layer),
  Layer.provideMerge(EntitlementGroupsRepo.layer),
)
