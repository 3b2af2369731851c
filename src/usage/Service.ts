/** Use cases of usage. */
import { Context, Duration, Effect, Layer } from "effect"
import { InstanceNotFound } from "../instances/Errors.ts"
import { Caller } from "../kernel/Caller.ts"
import { noSuch } from "../kernel/Problem.ts"
import { now } from "../kernel/Timestamp.ts"
import type { CheckRequest } from "./Model.ts"
import { UsageRepo } from "./Repo.ts"
import type { Moment } from "./Repo.ts"
import { answerChecks, standings } from "./Rules.ts"

// Nodes' clocks differ a little: what another node reserved just now is known here, whatever its clock said.
const CLOCKS_DIFFER = Duration.toMillis(Duration.minutes(1))

/** Now, or the instant that is asked about. */
const momentOf = Effect.fnUntraced(function* (asked?: Date) {
  const at = asked ?? (yield* now)
  return { at, known: asked ?? new Date(at.getTime() + CLOCKS_DIFFER) } satisfies Moment
})

const make = Effect.gen(function* () {
  const repo = yield* UsageRepo

  // Products ask this on every request of theirs.
  const check = Effect.fnUntraced(function* (
    instanceSlug: string,
    { at: asked, checks, explain = false }: CheckRequest,
  ) {
    const { organizationId } = yield* Caller
    const moment = yield* momentOf(asked)
    const slugs = checks.map(({ entitlement }) => entitlement)
    const rows = yield* repo.findForCheck(organizationId, instanceSlug, slugs, { ...moment, explain })
    const [instance] = rows
    if (instance === undefined) return yield* new InstanceNotFound({ detail: noSuch("instance", instanceSlug) })
    return answerChecks(instance, rows, checks, moment.at)
  })

  // Flags ask this: there an instance that does not exist is no error.
  const standingsOf = Effect.fnUntraced(function* (instanceSlug: string, entitlements: ReadonlyArray<string> | null) {
    const { organizationId } = yield* Caller
    const moment = yield* momentOf()
    const rows = yield* repo.findStandings(organizationId, instanceSlug, entitlements, moment)
    const [instance] = rows
    return instance === undefined ? [] : standings(instance, rows, moment.at)
  })

  return {
    check,
    /** How an instance stands with these entitlements (`null`: with all) now; nothing if there is no such instance. */
    standings: standingsOf,
  }
})

/** What the instances of the caller's organization may use. */
export class Usage extends Context.Service<Usage, Effect.Success<typeof make>>()("keyshelf/usage/Usage") {
  static readonly layer = Layer.effect(Usage, make)
}
