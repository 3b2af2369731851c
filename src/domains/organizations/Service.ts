/** The operator's use cases for organizations. */
import { Context, Effect, Layer, Option } from "effect"
import { Operator } from "../../kernel/contract/Caller.ts"
import { requireUnchanged } from "../../kernel/contract/Rewritable.ts"
import { newId, OrganizationId } from "../../kernel/values/Identifiers.ts"
import { byId, Cursors } from "../../kernel/contract/Page.ts"
import type { Page, PageRequest } from "../../kernel/contract/Page.ts"
import { invalid, noSuch } from "../../kernel/contract/Problem.ts"
import type { InvalidCursor, ValidationFailed } from "../../kernel/contract/Problem.ts"
import { slugify, insertWithFreeSlug } from "../../kernel/values/Slug.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import { Transactions } from "../../kernel/database/Transactions.ts"
import { Signals } from "../../kernel/ports/Signals.ts"
import { CreateOrganizationSlugTaken, OrganizationNotFound, UpdateOrganizationExternalIdTaken } from "./Errors.ts"
import { UpdateOrganization } from "./Model.ts"
import type { CreateOrganization, Organization } from "./Model.ts"
import { OrganizationsRepo } from "./Repo.ts"

const notFound = (id: string) => new OrganizationNotFound({ detail: noSuch("organization", id) })
const externalIdTaken = (externalId: string) => ({
  detail: `Another organization has the external id "${externalId}". Choose a different external id.`,
})

/** Manages the tenants of this installation. Only the operator has access. */
export class Organizations extends Context.Service<
  Organizations,
  {
    /** Creates an organization, or returns the one that has the external id of the body. */
    readonly create: (
      input: CreateOrganization,
    ) => Effect.Effect<
      { readonly organization: Organization; readonly isNew: boolean },
      CreateOrganizationSlugTaken,
      Operator
    >
    /** The organization with an id. A removed one is not found. */
    readonly get: (id: string) => Effect.Effect<Organization, OrganizationNotFound>
    /** A page of organizations, newest first. */
    readonly list: (request: PageRequest) => Effect.Effect<Page<Organization>, InvalidCursor>
    /** Changes the name or the external id of an organization. */
    readonly update: (
      id: string,
      input: UpdateOrganization,
    ) => Effect.Effect<
      Organization,
      ValidationFailed | OrganizationNotFound | UpdateOrganizationExternalIdTaken,
      Operator
    >
    /** Removes an organization. `confirmation` must be its slug. Its rows are deleted in the background. */
    readonly remove: (
      id: string,
      confirmation: string,
    ) => Effect.Effect<void, ValidationFailed | OrganizationNotFound, Operator>
  }
>()("keyshelf/organizations/Organizations") {
  static readonly layer = Layer.suspend(() => Layer.effect(Organizations, make))
}

/** Creates an organization, unless one has its external id. */
const creation = Effect.gen(function* () {
  const repo = yield* OrganizationsRepo
  const transactions = yield* Transactions

  return Effect.fn("Organizations.create")(function* (input: CreateOrganization) {
    const { actor } = yield* Operator
    const at = yield* now
    const organization = {
      id: OrganizationId.make(yield* newId),
      name: input.name,
      externalId: input.externalId ?? null,
      createdAt: at,
      updatedAt: at,
      createdBy: actor,
      updatedBy: actor,
    }
    return yield* transactions.run(
      Effect.gen(function* () {
        if (organization.externalId !== null) {
          yield* repo.lockExternalIds
          const existing = yield* repo.findByExternalId(organization.externalId)
          if (Option.isSome(existing)) return { organization: existing.value, isNew: false }
        }
        const slug = yield* insertWithFreeSlug({
          explicit: input.slug,
          suggested: slugify(input.name, "organization"),
          insert: (slug) => repo.insert({ ...organization, slug }),
          taken: (slug) =>
            new CreateOrganizationSlugTaken({
              detail: `Another organization has the slug "${slug}". Choose a different slug.`,
            }),
        })
        return { organization: { ...organization, slug } satisfies Organization, isNew: true }
      }),
    )
  })
})

const make = Effect.gen(function* () {
  const repo = yield* OrganizationsRepo
  const cursors = yield* Cursors
  const transactions = yield* Transactions
  const signals = yield* Signals

  const isExternalIdTaken = (externalId: string | null, exceptId: string) =>
    externalId === null
      ? Effect.succeed(false)
      : Effect.andThen(repo.lockExternalIds, repo.hasExternalId(externalId, exceptId))

  const get = Effect.fn("Organizations.get")(function* (id: string) {
    const organization = yield* repo.find(id)
    return Option.isSome(organization) ? organization.value : yield* notFound(id)
  })

  const list = Effect.fn("Organizations.list")(function* (request: PageRequest) {
    return yield* cursors.page({ name: "organizations", organizationId: null }, request, repo.list, byId)
  })

  const update = Effect.fn("Organizations.update")(function* (id: string, input: UpdateOrganization) {
    const { actor } = yield* Operator
    return yield* transactions.run(
      Effect.gen(function* () {
        const current = yield* repo.lock(id)
        if (Option.isNone(current)) return yield* notFound(id)
        yield* requireUnchanged(UpdateOrganization, current.value, input)
        const updated: Organization = {
          ...current.value,
          name: input.name ?? current.value.name,
          externalId: input.externalId === undefined ? current.value.externalId : input.externalId,
          updatedAt: yield* now,
          updatedBy: actor,
        }
        if (yield* isExternalIdTaken(updated.externalId, id)) {
          return yield* new UpdateOrganizationExternalIdTaken(externalIdTaken(updated.externalId ?? ""))
        }
        yield* repo.update(updated)
        return updated
      }),
    )
  })

  const remove = Effect.fn("Organizations.remove")(function* (id: string, confirmation: string) {
    const { actor, credentialId } = yield* Operator
    yield* transactions.run(
      Effect.gen(function* () {
        const current = yield* repo.lock(id)
        if (Option.isNone(current)) return yield* notFound(id)
        if (confirmation !== current.value.slug) {
          return yield* invalid("query.confirm", "must be the slug of the organization", confirmation)
        }
        yield* repo.remove(id, actor, yield* now)
        // Ends its live streams.
        yield* signals.notify("events")
      }),
    )
    yield* Effect.logInfo("Organization removed").pipe(
      Effect.annotateLogs({ organizationId: id, actor: actor.name, credentialId }),
    )
  })

  return { create: yield* creation, get, list, update, remove }
})
