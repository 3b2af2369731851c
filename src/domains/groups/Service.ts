/** Use cases of entitlement groups. */
import { Context, Effect, Layer, Option } from "effect"
import { EntitlementNotFound } from "../entitlements/Errors.ts"
import type { GroupMemberships } from "../entitlements/GroupMemberships.ts"
import { Entitlements } from "../entitlements/Service.ts"
import { Events } from "../events/Service.ts"
import { Caller } from "../../kernel/contract/Caller.ts"
import { requireUnchanged } from "../../kernel/contract/Rewritable.ts"
import { newId } from "../../kernel/values/Identifiers.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"
import { byId, Cursors } from "../../kernel/contract/Page.ts"
import type { Page, PageRequest } from "../../kernel/contract/Page.ts"
import { invalid, noSuch } from "../../kernel/contract/Problem.ts"
import type { InvalidCursor, ValidationFailed } from "../../kernel/contract/Problem.ts"
import { slugify, insertWithFreeSlug } from "../../kernel/values/Slug.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import { Transaction, Transactions } from "../../kernel/database/Transactions.ts"
import { CreateEntitlementGroupSlugTaken, EntitlementGroupNotFound } from "./Errors.ts"
import { UpdateEntitlementGroup } from "./Model.ts"
import type { CreateEntitlementGroup, EntitlementGroup } from "./Model.ts"
import { EntitlementGroupsRepo } from "./Repo.ts"

const notFound = (slug: string) => new EntitlementGroupNotFound({ detail: noSuch("entitlement group", slug) })

/** Manages entitlement groups of the caller's organization. */
export class EntitlementGroups extends Context.Service<
  EntitlementGroups,
  {
    /** Creates a group without entitlements. The slug is made from the name if the body has none. */
    readonly create: (
      input: CreateEntitlementGroup,
    ) => Effect.Effect<EntitlementGroup, CreateEntitlementGroupSlugTaken, Caller>
    /** The group with a slug. */
    readonly get: (slug: string) => Effect.Effect<EntitlementGroup, EntitlementGroupNotFound, Caller>
    /** A page of groups, newest first. */
    readonly list: (request: PageRequest) => Effect.Effect<Page<EntitlementGroup>, InvalidCursor, Caller>
    /** Changes the name or the description of a group. */
    readonly update: (
      slug: string,
      input: UpdateEntitlementGroup,
    ) => Effect.Effect<void, ValidationFailed | EntitlementGroupNotFound, Caller>
    /** Deletes a group. Its entitlements remain. */
    readonly delete: (slug: string) => Effect.Effect<void, EntitlementGroupNotFound, Caller>
    /** Adds an entitlement to a group. One that is in it changes nothing and emits no event. */
    readonly attach: (
      slug: string,
      entitlementSlug: string,
    ) => Effect.Effect<void, ValidationFailed | EntitlementGroupNotFound, Caller>
    /** Removes an entitlement from a group. One that is not in it changes nothing and emits no event. */
    readonly detach: (
      slug: string,
      entitlementSlug: string,
    ) => Effect.Effect<void, EntitlementNotFound | EntitlementGroupNotFound, Caller>
    /** Creates an entitlement as a member of groups. It provides the port {@link GroupMemberships}. */
    readonly creating: GroupMemberships["Service"]["creating"]
  }
>()("keyshelf/groups/EntitlementGroups") {
  static readonly layer = Layer.suspend(() => Layer.effect(EntitlementGroups, make))
}

/** Stores a change of a locked group with its event. Rereads the group, because members are rows of their own. */
const saving = Effect.gen(function* () {
  const repo = yield* EntitlementGroupsRepo
  const events = yield* Events
  return Effect.fnUntraced(function* (group: EntitlementGroup, change: Partial<EntitlementGroup> = {}) {
    const caller = yield* Caller
    yield* repo.update(caller.organizationId, { ...group, ...change, updatedAt: yield* now, updatedBy: caller.actor })
    const saved = yield* repo.findBySlug(caller.organizationId, group.slug)
    if (Option.isSome(saved)) yield* events.emitChange(caller, "ENTITLEMENT_GROUP_UPDATED", group, saved.value)
  })
})

/** The group with a slug. It is locked until the transaction ends. */
const groupLock = Effect.gen(function* () {
  const repo = yield* EntitlementGroupsRepo
  return Effect.fnUntraced(function* (organizationId: OrganizationId, slug: string) {
    const group = yield* repo.lockBySlug(organizationId, slug)
    return Option.isSome(group) ? group.value : yield* notFound(slug)
  })
})

/** Creates a group with its event in one statement. */
const creation = Effect.gen(function* () {
  const repo = yield* EntitlementGroupsRepo
  const events = yield* Events

  return Effect.fn("EntitlementGroups.create")(function* (input: CreateEntitlementGroup) {
    const caller = yield* Caller
    const at = yield* now
    const group = {
      id: yield* newId,
      name: input.name,
      description: input.description ?? null,
      entitlementSlugs: [],
      createdAt: at,
      updatedAt: at,
      createdBy: caller.actor,
      updatedBy: caller.actor,
    }
    const store = (record: EntitlementGroup) =>
      events.emitWith(repo.insertStatement(caller.organizationId, record), caller, "ENTITLEMENT_GROUP_CREATED", record)
    const slug = yield* insertWithFreeSlug({
      explicit: input.slug,
      suggested: slugify(input.name, "group"),
      insert: (slug) => store({ ...group, slug }),
      taken: (slug) =>
        new CreateEntitlementGroupSlugTaken({
          detail: `Another entitlement group has the slug "${slug}". Choose a different slug.`,
        }),
    })
    return { ...group, slug }
  })
})

/** Changes the members of a group. */
const membership = Effect.gen(function* () {
  const repo = yield* EntitlementGroupsRepo
  const entitlements = yield* Entitlements
  const transactions = yield* Transactions
  const save = yield* saving
  const lock = yield* groupLock

  const attach = Effect.fn("EntitlementGroups.attach")(function* (slug: string, entitlementSlug: string) {
    const { organizationId } = yield* Caller
    yield* transactions.run(
      Effect.gen(function* () {
        const group = yield* lock(organizationId, slug)
        const entitlement = yield* entitlements.lockShared(organizationId, entitlementSlug)
        if (Option.isNone(entitlement)) {
          return yield* invalid("body.entitlementSlug", "must be the slug of an existing entitlement", entitlementSlug)
        }
        if (yield* repo.attach(organizationId, group.id, entitlement.value.id)) yield* save(group)
      }),
    )
  })

  const detach = Effect.fn("EntitlementGroups.detach")(function* (slug: string, entitlementSlug: string) {
    const { organizationId } = yield* Caller
    yield* transactions.run(
      Effect.gen(function* () {
        const group = yield* lock(organizationId, slug)
        const entitlement = yield* entitlements.lockShared(organizationId, entitlementSlug)
        if (Option.isNone(entitlement)) {
          return yield* new EntitlementNotFound({ detail: noSuch("entitlement", entitlementSlug) })
        }
        // Without a row to delete there is no change, hence no event.
        if (yield* repo.detach(organizationId, group.id, entitlement.value.id)) yield* save(group)
      }),
    )
  })

  return { attach, detach }
})

/** Creates an entitlement as a member of groups. */
const joining = Effect.gen(function* () {
  const repo = yield* EntitlementGroupsRepo
  const transactions = yield* Transactions
  const save = yield* saving

  /** Locks the groups in one order, so that creations cannot deadlock. */
  const lockGroups = Effect.fnUntraced(function* (slugs: ReadonlyArray<string>) {
    const { organizationId } = yield* Caller
    const groups: Array<EntitlementGroup> = []
    for (const slug of [...new Set(slugs)].sort()) {
      const group = yield* repo.lockBySlug(organizationId, slug)
      if (Option.isNone(group)) {
        const location = `body.groupSlugs[${slugs.indexOf(slug)}]`
        return yield* invalid(location, "must be the slug of an existing entitlement group", slug)
      }
      groups.push(group.value)
    }
    return groups
  })

  const creating: GroupMemberships["Service"]["creating"] = (slugs, create) =>
    transactions.run(
      Effect.gen(function* () {
        const transaction = yield* Transaction
        const groups = yield* lockGroups(slugs)
        const join = Effect.fnUntraced(
          function* (entitlementId: string) {
            const { organizationId } = yield* Caller
            for (const group of groups) {
              yield* repo.attach(organizationId, group.id, entitlementId)
              yield* save(group)
            }
          },
          Effect.provideService(Transaction, transaction),
        )
        return yield* create({ groups: groups.map(({ id, name, slug }) => ({ id, name, slug })), join })
      }),
    )
  return creating
})

const make = Effect.gen(function* () {
  const repo = yield* EntitlementGroupsRepo
  const events = yield* Events
  const cursors = yield* Cursors
  const transactions = yield* Transactions
  const save = yield* saving
  const lock = yield* groupLock

  const get = Effect.fn("EntitlementGroups.get")(function* (slug: string) {
    const { organizationId } = yield* Caller
    const group = yield* repo.findBySlug(organizationId, slug)
    return Option.isSome(group) ? group.value : yield* notFound(slug)
  })

  const list = Effect.fn("EntitlementGroups.list")(function* (request: PageRequest) {
    const { organizationId } = yield* Caller
    return yield* cursors.page(
      { name: "entitlement-groups", organizationId },
      request,
      (after, count) => repo.list(organizationId, after, count),
      byId,
    )
  })

  const update = Effect.fn("EntitlementGroups.update")(function* (slug: string, input: UpdateEntitlementGroup) {
    const { organizationId } = yield* Caller
    yield* transactions.run(
      Effect.gen(function* () {
        const group = yield* lock(organizationId, slug)
        yield* requireUnchanged(UpdateEntitlementGroup, group, input)
        yield* save(group, {
          name: input.name ?? group.name,
          description: input.description === undefined ? group.description : input.description,
        })
      }),
    )
  })

  const remove = Effect.fn("EntitlementGroups.delete")(function* (slug: string) {
    const caller = yield* Caller
    yield* transactions.run(
      Effect.gen(function* () {
        const group = yield* lock(caller.organizationId, slug)
        yield* repo.delete(caller.organizationId, group.id)
        yield* events.emit(caller, "ENTITLEMENT_GROUP_DELETED", group)
      }),
    )
  })

  return {
    create: yield* creation,
    get,
    list,
    update,
    delete: remove,
    ...(yield* membership),
    creating: yield* joining,
  }
})
