/** Use cases of components. */
import { Context, Effect, Layer, Option } from "effect"
import { Events } from "../events/Service.ts"
import { Caller } from "../../kernel/contract/Caller.ts"
import { newId } from "../../kernel/values/Identifiers.ts"
import { byId, Cursors } from "../../kernel/contract/Page.ts"
import type { Page, PageRequest } from "../../kernel/contract/Page.ts"
import { invalid, noSuch } from "../../kernel/contract/Problem.ts"
import type { InvalidCursor, ValidationFailed } from "../../kernel/contract/Problem.ts"
import { slugify, insertWithFreeSlug } from "../../kernel/values/Slug.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import { Transactions } from "../../kernel/database/Transactions.ts"
import { DeletionBlockers } from "../../kernel/ports/DeletionBlockers.ts"
import { ComponentNotFound, CreateComponentSlugTaken, DeleteComponentLinkedToRelease } from "./Errors.ts"
import type { Component, CreateComponent } from "./Model.ts"
import { ComponentsRepo } from "./Repo.ts"

const notFound = (slug: string) => new ComponentNotFound({ detail: noSuch("component", slug) })

/** Creates, reads and deletes components of the caller's organization. */
export class Components extends Context.Service<
  Components,
  {
    /** Creates a component. The slug is made from the name and the version if the body has none. */
    readonly create: (
      input: CreateComponent,
    ) => Effect.Effect<Component, ValidationFailed | CreateComponentSlugTaken, Caller>
    /** The component with a slug. */
    readonly get: (slug: string) => Effect.Effect<Component, ComponentNotFound, Caller>
    /** A page of components, newest first. */
    readonly list: (request: PageRequest) => Effect.Effect<Page<Component>, InvalidCursor, Caller>
    /** Deletes a component that no release contains. */
    readonly delete: (slug: string) => Effect.Effect<void, ComponentNotFound | DeleteComponentLinkedToRelease, Caller>
  }
>()("keyshelf/components/Components") {
  static readonly layer = Layer.suspend(() => Layer.effect(Components, make))
}

const make = Effect.gen(function* () {
  const repo = yield* ComponentsRepo
  const events = yield* Events
  const cursors = yield* Cursors
  const transactions = yield* Transactions
  const blockers = yield* DeletionBlockers

  const create = Effect.fn("Components.create")(function* (input: CreateComponent) {
    const caller = yield* Caller
    const previous = input.previousComponentId ?? null
    const component = {
      id: yield* newId,
      name: input.name,
      version: input.version,
      description: input.description ?? null,
      previousComponentId: previous,
      createdAt: yield* now,
      createdBy: caller.actor,
    }
    if (previous !== null && !(yield* repo.exists(caller.organizationId, previous))) {
      return yield* invalid("body.previousComponentId", "must be the id of an existing component", previous)
    }
    const store = (record: Component) =>
      events.emitWith(repo.insertStatement(caller.organizationId, record), caller, "COMPONENT_CREATED", record)
    const slug = yield* insertWithFreeSlug({
      explicit: input.slug,
      suggested: slugify(`${input.name}-${input.version}`, "component"),
      insert: (slug) => store({ ...component, slug }),
      taken: (slug) =>
        new CreateComponentSlugTaken({ detail: `Another component has the slug "${slug}". Choose a different slug.` }),
    })
    return { ...component, slug }
  })

  const get = Effect.fnUntraced(function* (slug: string) {
    const { organizationId } = yield* Caller
    const component = yield* repo.findBySlug(organizationId, slug)
    return Option.isSome(component) ? component.value : yield* notFound(slug)
  })

  const list = Effect.fn("Components.list")(function* (request: PageRequest) {
    const { organizationId } = yield* Caller
    return yield* cursors.page(
      { name: "components", organizationId },
      request,
      (after, count) => repo.list(organizationId, after, count),
      byId,
    )
  })

  const remove = Effect.fn("Components.delete")(function* (slug: string) {
    const caller = yield* Caller
    yield* transactions.run(
      Effect.gen(function* () {
        const component = yield* repo.lockBySlug(caller.organizationId, slug)
        if (Option.isNone(component)) return yield* notFound(slug)
        const blocking = yield* blockers.find("component", component.value)
        if (blocking.length > 0) {
          return yield* new DeleteComponentLinkedToRelease({
            impact: { blocking },
            detail: `The component "${slug}" is part of a release. Delete the releases that contain it first.`,
          })
        }
        yield* repo.delete(caller.organizationId, component.value.id)
        yield* events.emit(caller, "COMPONENT_DELETED", component.value)
      }),
    )
  })

  return { create, get, list, delete: remove }
})
