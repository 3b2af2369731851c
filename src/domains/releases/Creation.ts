/** Creates releases. */
import { Effect } from "effect"
import { Caller } from "../../kernel/contract/Caller.ts"
import { failWithErrors } from "../../kernel/contract/Problem.ts"
import type { ValidationError } from "../../kernel/contract/Problem.ts"
import { Transactions } from "../../kernel/database/Transactions.ts"
import { newId } from "../../kernel/values/Identifiers.ts"
import { insertWithFreeSlug, slugify } from "../../kernel/values/Slug.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import { Events } from "../events/Service.ts"
import { CreateReleaseSlugTaken } from "./Errors.ts"
import type { CreateRelease, Release } from "./Model.ts"
import { ReleasesRepo } from "./Repo.ts"
import { repeatedComponentErrors, unknownComponentErrors } from "./Rules.ts"

const rejectIfAny = (errors: ReadonlyArray<ValidationError>) =>
  failWithErrors(errors, "`componentIds` must contain ids of existing components, each only once.")

export const creation = Effect.gen(function* () {
  const repo = yield* ReleasesRepo
  const events = yield* Events
  const transactions = yield* Transactions

  return Effect.fn("Releases.create")(function* (input: CreateRelease) {
    const caller = yield* Caller
    const componentIds = (input.componentIds ?? []).map((id) => id.toLowerCase())
    yield* rejectIfAny(repeatedComponentErrors(componentIds))
    const release = {
      id: yield* newId,
      version: input.version,
      description: input.description ?? null,
      createdAt: yield* now,
      createdBy: caller.actor,
    }
    return yield* transactions.run(
      Effect.gen(function* () {
        const locked = yield* repo.lockComponents(caller.organizationId, componentIds)
        const found = new Map(locked.map((component) => [component.id, component]))
        yield* rejectIfAny(unknownComponentErrors(componentIds, new Set(found.keys())))
        const slug = yield* insertWithFreeSlug({
          explicit: input.slug,
          suggested: slugify(input.version, "release"),
          insert: (slug) => repo.insert(caller.organizationId, { ...release, slug }),
          taken: (slug) =>
            new CreateReleaseSlugTaken({ detail: `Another release has the slug "${slug}". Choose a different slug.` }),
        })
        yield* repo.link(caller.organizationId, release.id, componentIds)
        const components = componentIds.flatMap((id) => found.get(id) ?? [])
        const record: Release = { ...release, slug, componentIds, components }
        yield* events.emit(caller, "RELEASE_CREATED", record)
        return record
      }),
    )
  })
})
