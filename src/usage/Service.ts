/** Use cases of usage. */
import { Context, Duration, Effect, Exit, Layer } from "effect"
import { InstanceNotFound } from "../instances/Errors.ts"
import { Caller } from "../kernel/Caller.ts"
import { gathered } from "../kernel/Gathered.ts"
import type { Waiting } from "../kernel/Gathered.ts"
import { noSuch } from "../kernel/Problem.ts"
import { isBefore, now } from "../kernel/Timestamp.ts"
import type { CheckRequest, CheckRow } from "./Model.ts"
import { PastRepo } from "./PastRepo.ts"
import { UsageRepo } from "./Repo.ts"
import type { CheckQuestion } from "./Repo.ts"
import { answerChecks, periodOf, standings } from "./Rules.ts"

// Nodes' clocks differ a little: what another node reserved just now is known here, whatever its clock said.
const CLOCKS_DIFFER = Duration.toMillis(Duration.minutes(1))

const known = (at: Date): Date => new Date(at.getTime() + CLOCKS_DIFFER)

type WaitingCheck = Waiting<CheckQuestion, ReadonlyArray<CheckRow>>

// One statement asks about no more entitlements, unless a single check does: the process answers some checks while the database
// is at the next. By one statement for all they would wait for each other.
const MOST_PER_STATEMENT = 40

interface SharedStatement {
  /** The one organization that it is about; `null`: it may be about several. */
  readonly within: string | null
  readonly waiting: Array<WaitingCheck>
  entitlements: number
}

const statementsFor = (waiting: ReadonlyArray<WaitingCheck>, isApart: boolean): ReadonlyArray<SharedStatement> => {
  const statements: Array<SharedStatement> = []
  const open = new Map<string | null, SharedStatement>()
  for (const check of waiting) {
    const within = isApart ? check.question.organizationId : null
    const entitlements = check.question.entitlements.length
    const statement = open.get(within)
    if (statement === undefined || statement.entitlements + entitlements > MOST_PER_STATEMENT) {
      const next = { within, waiting: [check], entitlements }
      open.set(within, next)
      statements.push(next)
    } else {
      statement.waiting.push(check)
      statement.entitlements += entitlements
    }
  }
  return statements
}

const areOfSeveral = ([first, ...others]: ReadonlyArray<WaitingCheck>): boolean =>
  others.some(({ question }) => question.organizationId !== first?.question.organizationId)

// Checks that wait at the same moment share statements, whosever they are, or apart by organization. All are asked for by one fiber:
// what is asked for in one go is sent in one piece. If a statement about several organizations dies, each is asked about by itself,
// so that nobody's check dies of another's.
const makeFindTogether = (repo: UsageRepo["Service"]) => {
  const findAll = (waiting: ReadonlyArray<WaitingCheck>, isApart: boolean): Effect.Effect<void> =>
    Effect.forEach(statementsFor(waiting, isApart), find, { concurrency: "unbounded", discard: true })
  const find = Effect.fnUntraced(function* ({ waiting, within }: SharedStatement) {
    const found = yield* Effect.exit(
      repo.findForChecks(
        waiting.map(({ question }) => question),
        within,
      ),
    )
    if (Exit.isFailure(found) && within === null && areOfSeveral(waiting)) return yield* findAll(waiting, true)
    const byNumber = Exit.map(found, (rows) => Map.groupBy(rows, ({ number }) => number))
    for (const [number, { answer }] of waiting.entries()) {
      answer(Exit.map(byNumber, (rows) => rows.get(number) ?? []))
    }
  })
  return gathered<CheckQuestion, ReadonlyArray<CheckRow>>((waiting) => findAll(waiting, repo.isSharded))
}

const make = Effect.gen(function* () {
  const repo = yield* UsageRepo
  const findTogether = makeFindTogether(repo)
  const past = yield* PastRepo

  /** What was true at an instant that is past. */
  const findThen = Effect.fnUntraced(function* (
    organizationId: string,
    instance: string,
    entitlements: ReadonlyArray<string>,
    at: Date,
    explain: boolean,
  ) {
    const rows = yield* past.findTerms(organizationId, instance, entitlements, at, explain)
    const keys = rows.flatMap((row) => {
      const period = row.entitlement === null ? null : periodOf(row, row, at)
      if (row.entitlement === null || period === null) return []
      const { aggregationMethod, entitlementId, instanceId } = row
      return [{ instanceId, entitlementId, periodStart: period.start, method: aggregationMethod ?? "SUM" }]
    })
    const used = keys.length === 0 ? [] : yield* past.usageUntil(organizationId, keys, at)
    const usages = new Map(used.map((usage) => [usage.entitlementId, usage] as const))
    return rows.map((row): CheckRow => (row.entitlement === null ? row : { ...row, ...usages.get(row.entitlementId) }))
  })

  // Products ask this on every request of theirs.
  const check = Effect.fnUntraced(function* (
    instanceSlug: string,
    { at: asked, checks, explain = false }: CheckRequest,
  ) {
    const { organizationId } = yield* Caller
    const present = yield* now
    const at = asked ?? present
    const slugs = checks.map(({ entitlement }) => entitlement)
    const moment = { at, known: asked ?? known(at) }
    const find = Effect.suspend(() => {
      if (isBefore(at, present)) return findThen(organizationId, instanceSlug, slugs, at, explain)
      return explain
        ? repo.findForCheck(organizationId, instanceSlug, slugs, { ...moment, explain })
        : findTogether({ organizationId, instance: instanceSlug, entitlements: slugs, ...moment })
    })
    const rows = yield* find
    const [instance] = rows
    if (instance === undefined) return yield* new InstanceNotFound({ detail: noSuch("instance", instanceSlug) })
    return answerChecks(instance, rows, checks, at)
  })

  // Flags ask this: there an instance that does not exist is no error.
  const standingsOf = Effect.fnUntraced(function* (instanceSlug: string, entitlements: ReadonlyArray<string> | null) {
    const { organizationId } = yield* Caller
    const at = yield* now
    const rows = yield* repo.findStandings(organizationId, instanceSlug, entitlements, { at, known: known(at) })
    const [instance] = rows
    return instance === undefined ? [] : standings(instance, rows, at)
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
