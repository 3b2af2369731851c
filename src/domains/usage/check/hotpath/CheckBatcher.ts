/** Checks that wait at the same moment are asked about together, whosever they are, and only what is not known is asked. */
import { Effect, Exit } from "effect"
import { makeRequestBatcher } from "../../../../kernel/concurrency/RequestBatcher.ts"
import type { PendingQuestion } from "../../../../kernel/concurrency/RequestBatcher.ts"
import { makeCatalogCache } from "./CatalogCache.ts"
import type { CheckQuestion, CheckBatchRepo, UsageRow } from "./Repo.ts"
import { makeAnswerCache } from "./AnswerCache.ts"
import type { KnownCheck } from "./AnswerCache.ts"
import { checkBasisOf } from "../../rules/CheckBasis.ts"
import type { CheckBasis } from "../../rules/CheckBasis.ts"

type WaitingCheck = PendingQuestion<CheckQuestion, CheckBasis | undefined>

interface WaitingKnown {
  readonly check: WaitingCheck
  readonly known: KnownCheck
}

// What waits is asked for in four statements at least, unless they were of less than four checks, and none asks about more than
// forty entitlements, unless a single check does: the process answers some checks while the database is at the next. By one
// statement for all they would wait for each other.
const LEAST_STATEMENTS = 4
const FEW_CHECKS = 4
const MOST_ENTITLEMENTS = 40

const inParts = <A>(waiting: ReadonlyArray<A>, entitlementsOf: (one: A) => number): ReadonlyArray<ReadonlyArray<A>> => {
  const parts: Array<Array<A>> = []
  const mostChecks = Math.max(FEW_CHECKS, Math.ceil(waiting.length / LEAST_STATEMENTS))
  let part: Array<A> = []
  let room = 0
  for (const one of waiting) {
    const entitlements = entitlementsOf(one)
    if (entitlements > room || part.length === mostChecks) {
      part = []
      parts.push(part)
      room = MOST_ENTITLEMENTS
    }
    part.push(one)
    room -= entitlements
  }
  return parts
}

const areOfSeveral = ([first, ...others]: ReadonlyArray<WaitingCheck>): boolean =>
  others.some(({ question }) => question.organizationId !== first?.question.organizationId)

// By one fiber: what is asked for in one go is sent in one piece.
const allAtOnce = (statements: ReadonlyArray<Effect.Effect<void>>): Effect.Effect<void> =>
  Effect.all(statements, { concurrency: "unbounded", discard: true })

/** How instances stand with what is asked for; nothing where there is no such instance. */
export const makeCheckBatcher = (repo: CheckBatchRepo["Service"]) => {
  const catalogs = makeCatalogCache()
  const answerCache = makeAnswerCache(catalogs)

  const statementsFor = (
    waiting: ReadonlyArray<WaitingCheck>,
    isApart: boolean,
  ): ReadonlyArray<Effect.Effect<void>> => {
    const byOrganization = isApart
      ? [...Map.groupBy(waiting, ({ question }) => question.organizationId)]
      : [[null, waiting] as const]
    return byOrganization.flatMap(([within, own]) =>
      inParts(own, ({ question }) => question.entitlements.length).map((part) => find(part, within)),
    )
  }

  // If a statement about several organizations dies, each is asked about by itself, so that nobody's check dies of another's.
  const find = Effect.fnUntraced(function* (waiting: ReadonlyArray<WaitingCheck>, within: string | null) {
    const questions = waiting.map(({ question }) => question)
    const found = yield* Effect.exit(repo.findWithCatalog(questions, within))
    if (Exit.isFailure(found) && within === null && areOfSeveral(waiting))
      return yield* allAtOnce(statementsFor(waiting, true))
    const byNumber = Exit.map(found, (rows) => Map.groupBy(rows, ({ number }) => number))
    for (const [number, { answer, question }] of waiting.entries()) {
      answer(
        Exit.map(byNumber, (rows) => {
          const own = rows.get(number) ?? []
          if (!repo.isSharded) catalogs.learn(question, own)
          return checkBasisOf(own, question.entitlements, question.at)
        }),
      )
    }
  })

  // Whatever is not answered by what is remembered is asked for with its catalog, and so is all of a statement that dies.
  const findKnown = Effect.fnUntraced(function* (waiting: ReadonlyArray<WaitingKnown>) {
    const questions = waiting.flatMap(({ check: { question }, known: { usage } }) =>
      usage.questions.map((wanted) => ({ wanted, at: question.at, known: question.known })),
    )
    const rows = yield* Effect.exit(repo.findUsage(questions))
    if (Exit.isFailure(rows)) {
      const checks = waiting.map(({ check }) => check)
      return yield* allAtOnce(statementsFor(checks, false))
    }
    const answers: Array<UsageRow | undefined> = []
    for (const row of rows.value) answers[row.number] = row
    const unanswered: Array<WaitingCheck> = []
    let asked = 0
    for (const { check, known } of waiting) {
      const from = asked
      asked += known.usage.questions.length
      const own = answers.slice(from, asked).filter((row) => row !== undefined)
      const found = answerCache.basisOf(known, check.question.instance, own)
      if (found === undefined) unanswered.push(check)
      else check.answer(Exit.succeed(found))
    }
    if (unanswered.length > 0) yield* allAtOnce(statementsFor(unanswered, false))
  })

  return makeRequestBatcher<CheckQuestion, CheckBasis | undefined>((waiting) => {
    const allKnown: Array<WaitingKnown> = []
    const unknown: Array<WaitingCheck> = []
    for (const check of waiting) {
      const known = answerCache.knownCheckOf(check.question)
      if (known === undefined) unknown.push(check)
      else allKnown.push({ check, known })
    }
    return allAtOnce([
      ...inParts(allKnown, ({ known }) => known.usage.entitlements.length).map(findKnown),
      ...statementsFor(unknown, repo.isSharded),
    ])
  })
}
