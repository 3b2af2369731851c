/** The use case of the overview. */
import { Context, Effect, Layer } from "effect"
import { Caller } from "../../kernel/contract/Caller.ts"
import { MAX_COUNTED } from "../../kernel/contract/dryruns/Impact.ts"
import { allows } from "../../kernel/contract/Scope.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import type { Counted, Overview } from "./Model.ts"
import { OverviewRepo } from "./Repo.ts"

/** Reads the overview of the caller's organization. */
export class Overviews extends Context.Service<
  Overviews,
  {
    /** Counts what the organization has now, and lists whose access ends. */
    readonly get: Effect.Effect<Overview, never, Caller>
  }
>()("keyshelf/overview/Overviews") {
  static readonly layer = Layer.suspend(() => Layer.effect(Overviews, make))
}

const countedOf = (found: number): Counted => ({
  count: Math.min(found, MAX_COUNTED),
  truncated: found > MAX_COUNTED,
})

const make = Effect.map(OverviewRepo, (repo) => {
  const read = Effect.fn("Overviews.get")(function* () {
    const { organizationId, scopes } = yield* Caller
    const at = yield* now
    const [counts, ending, inGrace, keys] = yield* Effect.all(
      [
        repo.counts(organizationId, at),
        repo.ending(organizationId, at),
        repo.inGrace(organizationId, at),
        repo.licenseKeys(organizationId),
      ],
      { concurrency: "unbounded" },
    )
    const { active, customers, entitlement, instance, license } = counts
    const overview: Overview = {
      asOf: at,
      customers: allows(scopes, "read:customers") ? countedOf(customers) : null,
      activeInstances: countedOf(active),
      ending: { ...countedOf(counts.ending), items: ending },
      inGrace: { ...countedOf(counts.inGrace), items: inGrace },
      setUp: { entitlement, license, customer: customers > 0, instance, ...keys },
    }
    return overview
  })
  return Overviews.of({ get: read() })
})
