/** Problems of people and memberships. */
import { Problem } from "../../kernel/contract/Problem.ts"

export class UserNotFound extends Problem<UserNotFound>()("User.NotFound", 404, "User not found") {}

export class MembershipNotFound extends Problem<MembershipNotFound>()(
  "Membership.NotFound",
  404,
  "Membership not found",
) {}

export class CreateUserIdentityTaken extends Problem<CreateUserIdentityTaken>()(
  "CreateUser.IdentityTaken",
  409,
  "Another user has this issuer and subject",
) {}

export class CreateMembershipAlreadyMember extends Problem<CreateMembershipAlreadyMember>()(
  "CreateMembership.AlreadyMember",
  409,
  "The user is a member already",
) {}

/** `system:platform` cannot be removed. */
export class RemoveUserPlatformIdentity extends Problem<RemoveUserPlatformIdentity>()(
  "RemoveUser.PlatformIdentity",
  403,
  "The platform identity stays",
) {}

/** `system:platform` has no role. */
export class UpdateMembershipPlatformIdentity extends Problem<UpdateMembershipPlatformIdentity>()(
  "UpdateMembership.PlatformIdentity",
  403,
  "The platform identity has no role",
) {}

/** `system:platform` is a member of every organization and cannot be removed. */
export class RemoveMembershipPlatformIdentity extends Problem<RemoveMembershipPlatformIdentity>()(
  "RemoveMembership.PlatformIdentity",
  403,
  "The platform identity stays a member",
) {}
