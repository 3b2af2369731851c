/** Use cases of entitlements. */
import { Context, Effect, Layer, Option } from "effect"
import { Events } from "../events/Service.ts"
import { Caller } from "../../kernel/contract/Caller.ts"
import type { Blocking } from "../../kernel/contract/dryruns/Impact.ts"
import { requireUnchanged } from "../../kernel/contract/Rewritable.ts"
import { newId } from "../../kernel/values/Identifiers.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"
import { Cursors, filtersOf } from "../../kernel/contract/Page.ts"
import type { Page, PageRequest } from "../../kernel/contract/Page.ts"
import { noSuch, ValidationFailed } from "../../kernel/contract/Problem.ts"
import type { InvalidCursor } from "../../kernel/contract/Problem.ts"
import { slugify, insertWithFreeSlug } from "../../kernel/values/Slug.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import { Transactions } from "../../kernel/database/Transactions.ts"
import { DeletionBlockers } from "../../kernel/ports/DeletionBlockers.ts"
import { CreateEntitlementSlugTaken, DeleteEntitlementInUse, EntitlementNotFound } from "./Errors.ts"
import type { NewMemberships } from "./GroupMemberships.ts"
import { UpdateEntitlement } from "./Model.ts"
import type { CreateEntitlement, Entitlement, EntitlementFilters } from "./Model.ts"
import { EntitlementsRepo } from "./Repo.ts"
import { applyChanges, measurementOf, measurementErrors } from "./Rules.ts"

const notFound = (slug: string) => new EntitlementNotFound({ detail: noSuch("entitlement", slug) })

const withoutGroups: NewMemberships = { groups: [], join: () => Effect.void }

/** Manages entitlements of the caller's organization. */
export class Entitlements extends Context.Service<
  Entitlements,
  {
    /**
     * Creates an entitlement, as a member of groups if some are locked. The slug is made from the name if the body has
     * none.
     */
    readonly create: (
      input: CreateEntitlement,
      memberships?: NewMemberships,
    ) => Effect.Effect<Entitlement, ValidationFailed | CreateEntitlementSlugTaken, Caller>
    /** The entitlement with a slug. */
    readonly get: (slug: string) => Effect.Effect<Entitlement, EntitlementNotFound, Caller>
    /** A page of entitlements in their display order. */
    readonly list: (
      request: PageRequest & EntitlementFilters,
    ) => Effect.Effect<Page<Entitlement>, InvalidCursor, Caller>
    /** Changes an entitlement. Its type and what is measured never change. */
    readonly update: (
      slug: string,
      input: UpdateEntitlement,
    ) => Effect.Effect<void, ValidationFailed | EntitlementNotFound, Caller>
    /** Deletes an entitlement that no license grants, no release requires, no override names and no usage refers to. */
    readonly delete: (slug: string) => Effect.Effect<void, EntitlementNotFound | DeleteEntitlementInUse, Caller>
    /** The entitlement with this slug. It cannot be deleted before the transaction ends. */
    readonly lockShared: (organizationId: OrganizationId, slug: string) => Effect.Effect<Option.Option<Entitlement>>
  }
>()("keyshelf/entitlements/Entitlements") {
  static readonly layer = Layer.suspend(() => Layer.effect(Entitlements, make))
}

/** Creates an entitlement with its event in one statement, and adds it to groups. */
const creation = Effect.gen(function* () {
  const repo = yield* EntitlementsRepo
  const events = yield* Events

  return Effect.fn("Entitlements.create")(function* (
    input: CreateEntitlement,
    { groups, join }: NewMemberships = withoutGroups,
  ) {
    const caller = yield* Caller
    const misplaced = measurementErrors(input)
    if (misplaced.length > 0) {
      return yield* new ValidationFailed({
        detail: `Only NUMBER entitlements are measured, and this type is ${input.type}. Omit the properties in \`errors\`.`,
        errors: misplaced,
      })
    }
    const at = yield* now
    const entitlement = {
      id: yield* newId,
      name: input.name,
      type: input.type,
      ...measurementOf(input),
      ...applyChanges(input),
      groupSlugs: groups.map(({ slug }) => slug),
      entitlementGroups: groups,
      createdAt: at,
      updatedAt: at,
      createdBy: caller.actor,
      updatedBy: caller.actor,
    }
    const store = (record: Entitlement) =>
      events.emitWith(repo.insertStatement(caller.organizationId, record), caller, "ENTITLEMENT_CREATED", record)
    const slug = yield* insertWithFreeSlug({
      explicit: input.slug,
      suggested: slugify(input.name, "entitlement"),
      insert: (slug) => store({ ...entitlement, slug }),
      taken: (slug) =>
        new CreateEntitlementSlugTaken({
          detail: `Another entitlement has the slug "${slug}". Choose a different slug.`,
        }),
    })
    if (groups.length > 0) yield* join(entitlement.id)
    return { ...entitlement, slug }
  })
})

/** Why an entitlement cannot be deleted, by the kind of what needs it. */
const reasonOf = (kind: Blocking["kind"], slug: string): string => {
  switch (kind) {
    case "licenses":
      return `A license grants the entitlement "${slug}". Remove it from all licenses first.`
    case "releases":
      return `A release requires the entitlement "${slug}". Remove it from the access of all releases first.`
    case "overrides":
      return `An instance has an override of the entitlement "${slug}". Remove it first.`
    default:
      // Deleting the entitlement would also delete its usage, which may still have to be billed.
      return `Some instances have usage of the entitlement "${slug}". Delete them first.`
  }
}

/** Deletes an entitlement that nothing needs. */
const deletion = Effect.gen(function* () {
  const repo = yield* EntitlementsRepo
  const events = yield* Events
  const transactions = yield* Transactions
  const blockers = yield* DeletionBlockers

  return Effect.fn("Entitlements.delete")(function* (slug: string) {
    const caller = yield* Caller
    yield* transactions.run(
      Effect.gen(function* () {
        const entitlement = yield* repo.lockBySlug(caller.organizationId, slug)
        if (Option.isNone(entitlement)) return yield* notFound(slug)
        const blocking = yield* blockers.find("entitlement", entitlement.value)
        if (blocking[0] !== undefined) {
          return yield* new DeleteEntitlementInUse({
            impact: { blocking },
            detail: reasonOf(blocking[0].kind, slug),
          })
        }
        yield* repo.delete(caller.organizationId, entitlement.value.id)
        yield* events.emit(caller, "ENTITLEMENT_DELETED", entitlement.value)
      }),
    )
  })
})

const make = Effect.gen(function* () {
  const repo = yield* EntitlementsRepo
  const events = yield* Events
  const cursors = yield* Cursors
  const transactions = yield* Transactions

  const get = Effect.fnUntraced(function* (slug: string) {
    const { organizationId } = yield* Caller
    const entitlement = yield* repo.findBySlug(organizationId, slug)
    return Option.isSome(entitlement) ? entitlement.value : yield* notFound(slug)
  })

  const list = Effect.fn("Entitlements.list")(function* (request: PageRequest & EntitlementFilters) {
    const { organizationId } = yield* Caller
    const filters = filtersOf(request)
    return yield* cursors.page(
      { name: "entitlements", organizationId, filters },
      request,
      (after, count) => repo.list(organizationId, filters, after, count),
      (entitlement) => [entitlement.displayOrder, entitlement.id],
    )
  })

  const update = Effect.fn("Entitlements.update")(function* (slug: string, input: UpdateEntitlement) {
    const caller = yield* Caller
    yield* transactions.run(
      Effect.gen(function* () {
        const current = yield* repo.lockBySlug(caller.organizationId, slug)
        if (Option.isNone(current)) return yield* notFound(slug)
        yield* requireUnchanged(UpdateEntitlement, current.value, input)
        const updated: Entitlement = {
          ...current.value,
          name: input.name ?? current.value.name,
          ...applyChanges(input, current.value),
          updatedAt: yield* now,
          updatedBy: caller.actor,
        }
        yield* repo.update(caller.organizationId, updated)
        yield* events.emitChange(caller, "ENTITLEMENT_UPDATED", current.value, updated)
      }),
    )
  })

  return {
    create: yield* creation,
    get,
    list,
    update,
    delete: yield* deletion,
    lockShared: repo.lockBySlugShared,
  }
})
