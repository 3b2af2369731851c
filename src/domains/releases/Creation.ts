/** Creates releases. */
import { Effect } from "effect"
import { Caller } from "../../kernel/contract/Caller.ts"
import { failWithErrors } from "../../kernel/contract/Problem.ts"
import { Transactions } from "../../kernel/database/Transactions.ts"
import { newId } from "../../kernel/values/Identifiers.ts"
import { insertWithFreeSlug, slugify } from "../../kernel/values/Slug.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import { Events } from "../events/Service.ts"
import { CreateReleaseSlugTaken } from "./Errors.ts"
import type { CreateRelease, Release } from "./Model.ts"
import { ReleasesRepo } from "./Repo.ts"
import { requirements } from "./Requirements.ts"
import { componentList, creationErrors, requiredList, unknownNameErrors } from "./Rules.ts"

export const creation = Effect.gen(function* () {
  const repo = yield* ReleasesRepo
  const events = yield* Events
  const transactions = yield* Transactions
  const lockRequired = yield* requirements

  return Effect.fn("Releases.create")(function* (input: CreateRelease) {
    const caller = yield* Caller
    const { organizationId } = caller
    const createdAt = yield* now
    yield* failWithErrors(creationErrors(input, createdAt))
    const list = componentList(input)
    const key = list.property === "componentSlugs" ? "slug" : "id"
    const required = requiredList(input.access?.entitlements, "access.entitlements")
    const release = {
      id: yield* newId,
      version: input.version,
      description: input.description ?? null,
      releasedAt: input.releasedAt ?? createdAt,
      access: {
        offered: input.access?.offered ?? false,
        entitlements: required.names.toSorted(),
        withdrawnAt: null,
        withdrawnReason: null,
        updatedAt: null,
        updatedBy: null,
      },
      createdAt,
      createdBy: caller.actor,
    }
    return yield* transactions.run(
      Effect.gen(function* () {
        const locked = yield* repo.lockComponents(organizationId, key, list.names)
        const found = new Map(locked.map((component) => [component[key], component]))
        yield* failWithErrors(unknownNameErrors(list, new Set(found.keys())))
        const entitlementIds = yield* lockRequired(organizationId, required)
        const slug = yield* insertWithFreeSlug({
          explicit: input.slug,
          suggested: slugify(input.version, "release"),
          insert: (slug) => repo.insert(organizationId, { ...release, slug }),
          taken: (slug) =>
            new CreateReleaseSlugTaken({ detail: `Another release has the slug "${slug}". Choose a different slug.` }),
        })
        const components = list.names.flatMap((name) => found.get(name) ?? [])
        const componentIds = components.map(({ id }) => id)
        yield* repo.link(organizationId, release.id, componentIds)
        if (entitlementIds.length > 0) yield* repo.replaceRequired(organizationId, release.id, entitlementIds)
        const record: Release = { ...release, slug, componentIds, components }
        yield* events.emit(caller, "RELEASE_CREATED", record)
        return record
      }),
    )
  })
})
