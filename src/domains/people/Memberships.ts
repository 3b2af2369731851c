/** The operator's use cases for memberships: who belongs to which organization, and in which role. */
import { Context, Effect, Layer, Option } from "effect"
import { Events } from "../events/Service.ts"
import { Operator, platformIdentity } from "../../kernel/contract/Caller.ts"
import type { ActorReference, Initiator, Role } from "../../kernel/contract/Caller.ts"
import { newId } from "../../kernel/values/Identifiers.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"
import { byId, Cursors } from "../../kernel/contract/Page.ts"
import type { Page, PageRequest } from "../../kernel/contract/Page.ts"
import { invalid } from "../../kernel/contract/Problem.ts"
import type { InvalidCursor, ValidationFailed } from "../../kernel/contract/Problem.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import { Transactions } from "../../kernel/database/Transactions.ts"
import type { Transaction } from "../../kernel/database/Transactions.ts"
import { Organizations } from "../organizations/Service.ts"
import {
  CreateMembershipAlreadyMember,
  MembershipNotFound,
  RemoveMembershipPlatformIdentity,
  UpdateMembershipPlatformIdentity,
} from "./Errors.ts"
import { UpdateMembership } from "./Model.ts"
import type { CreateMembership, Membership } from "./Model.ts"
import { requireUnchanged } from "../../kernel/contract/Rewritable.ts"
import { PeopleRepo } from "./Repo.ts"
import type { MembershipRow } from "./Repo.ts"
import type { OrganizationNotFound } from "../organizations/Errors.ts"

const recordOf = ({ id: _, ...membership }: MembershipRow): Membership => membership

const isPlatformIdentity = (userId: string): boolean => userId.toLowerCase() === platformIdentity.id
const notAMember = (userId: string) =>
  new MembershipNotFound({ detail: `The user ${userId} is not a member of this organization.` })

interface MembershipFilters {
  /** Whether ended memberships are listed too. */
  readonly includeRemoved?: "true" | "false"
}

/** Manages the memberships of people in organizations. */
export class Memberships extends Context.Service<
  Memberships,
  {
    /** Stores a membership and emits its event. The caller holds the membership's lock. */
    readonly add: (
      organizationId: OrganizationId,
      user: ActorReference,
      role: Role,
      by: Initiator,
    ) => Effect.Effect<MembershipRow, never, Transaction>
    /** Adds a person to an organization. */
    readonly create: (
      organization: string,
      input: CreateMembership,
    ) => Effect.Effect<Membership, ValidationFailed | OrganizationNotFound | CreateMembershipAlreadyMember, Operator>
    /** A page of the memberships of an organization, newest first, with `includeRemoved` also those that ended. */
    readonly list: (
      organization: string,
      request: PageRequest & MembershipFilters,
    ) => Effect.Effect<Page<Membership>, InvalidCursor | OrganizationNotFound>
    /** Changes the role of a member. */
    readonly update: (
      organization: string,
      userId: string,
      input: UpdateMembership,
    ) => Effect.Effect<
      Membership,
      ValidationFailed | OrganizationNotFound | UpdateMembershipPlatformIdentity | MembershipNotFound,
      Operator
    >
    /** Ends a membership. The person can be added again. */
    readonly remove: (
      organization: string,
      userId: string,
    ) => Effect.Effect<void, OrganizationNotFound | MembershipNotFound | RemoveMembershipPlatformIdentity, Operator>
    /** Ends all memberships of a person in all organizations. The caller holds the lock of the person. */
    readonly removeAllOf: (userId: string, by: Initiator) => Effect.Effect<void, never, Transaction>
  }
>()("keyshelf/people/Memberships") {
  static readonly layer = Layer.suspend(() => Layer.effect(Memberships, make))
}

/** Adds members to organizations. */
const additions = Effect.gen(function* () {
  const repo = yield* PeopleRepo
  const organizations = yield* Organizations
  const events = yield* Events
  const transactions = yield* Transactions

  const add = Effect.fnUntraced(function* (
    organizationId: OrganizationId,
    user: ActorReference,
    role: Role,
    by: Initiator,
  ) {
    const row: MembershipRow = {
      id: yield* newId,
      organizationId,
      userId: user.id,
      userName: user.name,
      role,
      createdAt: yield* now,
      createdBy: by.actor,
      removedAt: null,
    }
    yield* repo.insertMembership(row)
    yield* events.emit({ ...by, organizationId }, "MEMBERSHIP_CREATED", recordOf(row))
    return row
  })

  const create = Effect.fn("Memberships.create")(function* (organization: string, { role, userId }: CreateMembership) {
    const operator = yield* Operator
    const { id: organizationId } = yield* organizations.get(organization)
    if (isPlatformIdentity(userId)) {
      return yield* new CreateMembershipAlreadyMember({
        detail: `${platformIdentity.name} is a member of every organization and cannot be added.`,
      })
    }
    return yield* transactions.run(
      Effect.gen(function* () {
        const user = yield* repo.lockUserForShare(userId)
        if (Option.isNone(user)) return yield* invalid("body.userId", "must be the id of an existing user", userId)
        yield* repo.lockMembership(organizationId, userId)
        if ((yield* repo.membershipHistory(organizationId, userId)).some(({ removed }) => !removed)) {
          return yield* new CreateMembershipAlreadyMember({
            detail: `${user.value.name} is already a member. To change the role, send a PATCH to the membership.`,
          })
        }
        return recordOf(yield* add(organizationId, user.value, role, operator))
      }),
    )
  })

  return { add, create }
})

/** Ends memberships. */
const removals = Effect.gen(function* () {
  const repo = yield* PeopleRepo
  const organizations = yield* Organizations
  const events = yield* Events
  const transactions = yield* Transactions

  const removeAllOf = Effect.fnUntraced(function* (userId: string, by: Initiator) {
    for (const row of yield* repo.removeMembershipsOf(userId, by.actor, yield* now)) {
      yield* events.emit({ ...by, organizationId: row.organizationId }, "MEMBERSHIP_REMOVED", recordOf(row))
    }
  })

  const remove = Effect.fn("Memberships.remove")(function* (organization: string, userId: string) {
    const operator = yield* Operator
    const { id: organizationId } = yield* organizations.get(organization)
    if (isPlatformIdentity(userId)) {
      return yield* new RemoveMembershipPlatformIdentity({
        detail: `${platformIdentity.name} is a member of every organization and cannot be removed.`,
      })
    }
    yield* transactions.run(
      Effect.gen(function* () {
        yield* repo.lockMembership(organizationId, userId)
        const removed = yield* repo.removeMembership(organizationId, userId, operator.actor, yield* now)
        if (Option.isNone(removed)) return yield* notAMember(userId)
        yield* events.emit({ ...operator, organizationId }, "MEMBERSHIP_REMOVED", recordOf(removed.value))
      }),
    )
  })

  return { remove, removeAllOf }
})

const make = Effect.gen(function* () {
  const repo = yield* PeopleRepo
  const organizations = yield* Organizations
  const events = yield* Events
  const cursors = yield* Cursors
  const transactions = yield* Transactions

  const list = Effect.fn("Memberships.list")(function* (
    organization: string,
    { includeRemoved = "false", ...request }: PageRequest & MembershipFilters,
  ) {
    const { id: organizationId } = yield* organizations.get(organization)
    const page = yield* cursors.page(
      { name: `organizations/${organizationId}/memberships`, organizationId: null, filters: { includeRemoved } },
      request,
      (after, count) => repo.listMemberships(organizationId, includeRemoved === "true", after, count),
      byId,
    )
    return { ...page, items: page.items.map(recordOf) }
  })

  const update = Effect.fn("Memberships.update")(function* (
    organization: string,
    userId: string,
    input: UpdateMembership,
  ) {
    const operator = yield* Operator
    const { id: organizationId } = yield* organizations.get(organization)
    if (isPlatformIdentity(userId)) {
      return yield* new UpdateMembershipPlatformIdentity({
        detail: `${platformIdentity.name} is a member of every organization and has no role.`,
      })
    }
    return yield* transactions.run(
      Effect.gen(function* () {
        yield* repo.lockMembership(organizationId, userId)
        const current = yield* repo.lockCurrentMembership(organizationId, userId)
        if (Option.isNone(current)) return yield* notAMember(userId)
        const membership = recordOf({ ...current.value, role: input.role })
        yield* requireUnchanged(UpdateMembership, membership, input)
        yield* repo.updateRole(organizationId, userId, input.role)
        const source = { ...operator, organizationId }
        yield* events.emitChange(source, "MEMBERSHIP_UPDATED", recordOf(current.value), membership)
        return membership
      }),
    )
  })

  return { ...(yield* additions), list, update, ...(yield* removals) }
})
