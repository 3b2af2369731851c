/** Use cases of usage. */
import { Context, Duration, Effect, Exit, Layer, Request, RequestResolver } from "effect"
import { InstanceNotFound } from "../instances/Errors.ts"
import { Caller } from "../kernel/Caller.ts"
import { noSuch } from "../kernel/Problem.ts"
import { now } from "../kernel/Timestamp.ts"
import type { CheckRequest, CheckRow } from "./Model.ts"
import { UsageRepo } from "./Repo.ts"
import type { CheckQuestion, Moment } from "./Repo.ts"
import { answerChecks, standings } from "./Rules.ts"

// Nodes' clocks differ a little: what another node reserved just now is known here, whatever its clock said.
const CLOCKS_DIFFER = Duration.toMillis(Duration.minutes(1))

/** Now, or the instant that is asked about. */
const momentOf = Effect.fnUntraced(function* (asked?: Date) {
  const at = asked ?? (yield* now)
  return { at, known: asked ?? new Date(at.getTime() + CLOCKS_DIFFER) } satisfies Moment
})

class FindForCheck extends Request.Class<{ readonly question: CheckQuestion }, ReadonlyArray<CheckRow>> {}

// All checks that wait at the same moment go into one query.
const findTogether = (repo: UsageRepo["Service"]) => {
  const resolver = RequestResolver.make<FindForCheck>(
    Effect.fnUntraced(function* (entries) {
      const rows = yield* repo.findForChecks(entries.map(({ request }) => request.question))
      const byNumber = Map.groupBy(rows, ({ number }) => number)
      for (const [number, entry] of entries.entries()) entry.completeUnsafe(Exit.succeed(byNumber.get(number) ?? []))
    }),
  )
  return (question: CheckQuestion) => Effect.request(new FindForCheck({ question }), resolver)
}

const make = Effect.gen(function* () {
  const repo = yield* UsageRepo
  const find = findTogether(repo)

  // Products ask this on every request of theirs.
  const check = Effect.fnUntraced(function* (
    instanceSlug: string,
    { at: asked, checks, explain = false }: CheckRequest,
  ) {
    const { organizationId } = yield* Caller
    const moment = yield* momentOf(asked)
    const slugs = checks.map(({ entitlement }) => entitlement)
    const rows = yield* explain || asked !== undefined
      ? repo.findForCheck(organizationId, instanceSlug, slugs, { ...moment, explain })
      : find({ organizationId, instance: instanceSlug, entitlements: slugs, ...moment })
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
