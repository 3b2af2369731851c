/** Use cases of components. */
import { Context, Effect, Equal, Layer, Option } from "effect"
import { Events } from "../events/Service.ts"
import { Caller } from "../../kernel/contract/Caller.ts"
import { newId } from "../../kernel/values/Identifiers.ts"
import { byId, Cursors, filtersOf } from "../../kernel/contract/Page.ts"
import type { Page, PageRequest } from "../../kernel/contract/Page.ts"
import { failWithErrors, invalid, noSuch } from "../../kernel/contract/Problem.ts"
import type { InvalidCursor, ValidationFailed } from "../../kernel/contract/Problem.ts"
import { slugify, insertWithFreeSlug } from "../../kernel/values/Slug.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import { Transactions } from "../../kernel/database/Transactions.ts"
import { DeletionBlockers } from "../../kernel/ports/DeletionBlockers.ts"
import { ComponentNotFound, CreateComponentSlugTaken, DeleteComponentLinkedToRelease } from "./Errors.ts"
import type { Component, ComponentFilters, ComponentImages, CreateComponent } from "./Model.ts"
import { ComponentsRepo } from "./Repo.ts"
import { repeatedRepositoryErrors } from "./Rules.ts"

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
    /** A page of the components that match all filters, newest first. */
    readonly list: (request: PageRequest & ComponentFilters) => Effect.Effect<Page<Component>, InvalidCursor, Caller>
    /** Replaces all images of a component. The same images again change nothing and emit no event. */
    readonly setImages: (
      slug: string,
      input: ComponentImages,
    ) => Effect.Effect<ComponentImages, ValidationFailed | ComponentNotFound, Caller>
    /** Deletes a component that no release contains. */
    readonly delete: (slug: string) => Effect.Effect<void, ComponentNotFound | DeleteComponentLinkedToRelease, Caller>
  }
>()("keyshelf/components/Components") {
  static readonly layer = Layer.suspend(() => Layer.effect(Components, make))
}

/** Creates a component with its event in one statement. Its images take another one, so that both commit or none. */
const creation = Effect.gen(function* () {
  const repo = yield* ComponentsRepo
  const events = yield* Events
  const transactions = yield* Transactions

  return Effect.fn("Components.create")(function* (input: CreateComponent) {
    const caller = yield* Caller
    const { organizationId } = caller
    const previous = input.previousComponentId ?? null
    const images = input.images ?? []
    yield* failWithErrors(repeatedRepositoryErrors(images))
    const component = {
      id: yield* newId,
      name: input.name,
      version: input.version,
      description: input.description ?? null,
      previousComponentId: previous,
      images,
      createdAt: yield* now,
      createdBy: caller.actor,
    }
    if (previous !== null && !(yield* repo.exists(organizationId, previous))) {
      return yield* invalid("body.previousComponentId", "must be the id of an existing component", previous)
    }
    const store = (record: Component) =>
      events.emitWith(repo.insertStatement(organizationId, record), caller, "COMPONENT_CREATED", record)
    const stored = insertWithFreeSlug({
      explicit: input.slug,
      suggested: slugify(`${input.name}-${input.version}`, "component"),
      insert: (slug) => store({ ...component, slug }),
      taken: (slug) =>
        new CreateComponentSlugTaken({ detail: `Another component has the slug "${slug}". Choose a different slug.` }),
    })
    const slug = yield* images.length === 0
      ? stored
      : transactions.run(Effect.tap(stored, () => repo.replaceImages(organizationId, component.id, images)))
    return { ...component, slug }
  })
})

/** Replaces the images of a component. */
const imaging = Effect.gen(function* () {
  const repo = yield* ComponentsRepo
  const events = yield* Events
  const transactions = yield* Transactions

  return Effect.fn("Components.setImages")(function* (slug: string, { images }: ComponentImages) {
    const caller = yield* Caller
    yield* failWithErrors(repeatedRepositoryErrors(images))
    return yield* transactions.run(
      Effect.gen(function* () {
        const component = yield* repo.lockBySlug(caller.organizationId, slug)
        if (Option.isNone(component)) return yield* notFound(slug)
        if (!Equal.equals(component.value.images, images)) {
          yield* repo.replaceImages(caller.organizationId, component.value.id, images)
          yield* events.emitChange(caller, "COMPONENT_IMAGES_UPDATED", component.value, { ...component.value, images })
        }
        return { images }
      }),
    )
  })
})

const make = Effect.gen(function* () {
  const repo = yield* ComponentsRepo
  const events = yield* Events
  const cursors = yield* Cursors
  const transactions = yield* Transactions
  const blockers = yield* DeletionBlockers

  const get = Effect.fnUntraced(function* (slug: string) {
    const { organizationId } = yield* Caller
    const component = yield* repo.findBySlug(organizationId, slug)
    return Option.isSome(component) ? component.value : yield* notFound(slug)
  })

  const list = Effect.fn("Components.list")(function* (request: PageRequest & ComponentFilters) {
    const { organizationId } = yield* Caller
    const filters = filtersOf(request)
    return yield* cursors.page(
      { name: "components", organizationId, filters },
      request,
      (after, count) => repo.list(organizationId, filters, after, count),
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

  return { create: yield* creation, get, list, setImages: yield* imaging, delete: remove }
})
