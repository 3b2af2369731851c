/** Batches the checks that wait at the same moment, of all organizations, and reads only what is not cached. */
import { Effect, Exit } from "effect"
import { makeRequestBatcher } from "../../../../kernel/concurrency/RequestBatcher.ts"
import type { PendingQuestion } from "../../../../kernel/concurrency/RequestBatcher.ts"
import type { OrganizationId } from "../../../../kernel/values/Identifiers.ts"
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

// Waiting checks are split into at least 4 statements of up to 40 entitlements each, but never fewer than 4 checks per
// statement. A single check may have more entitlements. So the process responds to some checks while the database runs
// the next statement.
const MIN_STATEMENTS = 4
const MIN_CHECKS = 4
const MAX_ENTITLEMENTS = 40

/** Splits waiting checks into the parts of one statement each. */
const splitChecks = <A>(
  waiting: ReadonlyArray<A>,
  entitlementsOf: (check: A) => number,
): ReadonlyArray<ReadonlyArray<A>> => {
  const parts: Array<Array<A>> = []
  const maxChecks = Math.max(MIN_CHECKS, Math.ceil(waiting.length / MIN_STATEMENTS))
  let part: Array<A> = []
  let room = 0
  for (const check of waiting) {
    const entitlements = entitlementsOf(check)
    if (entitlements > room || part.length === maxChecks) {
      part = []
      parts.push(part)
      room = MAX_ENTITLEMENTS
    }
    part.push(check)
    room -= entitlements
  }
  return parts
}

const haveSeveralOrganizations = ([first, ...others]: ReadonlyArray<WaitingCheck>): boolean =>
  others.some(({ question }) => question.organizationId !== first?.question.organizationId)

// In one fiber, so that the statements are sent in one piece.
const runAll = (statements: ReadonlyArray<Effect.Effect<void>>): Effect.Effect<void> =>
  Effect.all(statements, { concurrency: "unbounded", discard: true })

/** Makes a function that finds the basis of a check; `undefined` if there is no such instance. */
export const makeCheckBatcher = (repo: CheckBatchRepo["Service"]) => {
  const catalogs = makeCatalogCache()
  const answerCache = makeAnswerCache(catalogs)

  const statementsFor = (
    waiting: ReadonlyArray<WaitingCheck>,
    isSeparate: boolean,
  ): ReadonlyArray<Effect.Effect<void>> => {
    const byOrganization = isSeparate
      ? [...Map.groupBy(waiting, ({ question }) => question.organizationId)]
      : [[null, waiting] as const]
    return byOrganization.flatMap(([within, checks]) =>
      splitChecks(checks, ({ question }) => question.entitlements.length).map((part) => findWithCatalog(part, within)),
    )
  }

  // If a statement about several organizations dies, each gets its own: one organization's check must not fail
  // another's.
  const findWithCatalog = Effect.fnUntraced(function* (
    waiting: ReadonlyArray<WaitingCheck>,
    within: OrganizationId | null,
  ) {
    const questions = waiting.map(({ question }) => question)
    const found = yield* Effect.exit(repo.findWithCatalog(questions, within))
    if (Exit.isFailure(found) && within === null && haveSeveralOrganizations(waiting))
      return yield* runAll(statementsFor(waiting, true))
    const byNumber = Exit.map(found, (rows) => Map.groupBy(rows, ({ number }) => number))
    for (const [number, { answer, question }] of waiting.entries()) {
      answer(
        Exit.map(byNumber, (rows) => {
          const own = rows.get(number) ?? []
          if (!repo.separatesOrganizations) catalogs.learn(question, own)
          return checkBasisOf(own, question.entitlements, question.at)
        }),
      )
    }
  })

  // A check whose cached catalog is outdated is read with its catalog, and so are all checks of a statement that dies.
  const findUsage = Effect.fnUntraced(function* (waiting: ReadonlyArray<WaitingKnown>) {
    const questions = waiting.flatMap(({ check: { question }, known: { usage } }) =>
      usage.questions.map((wanted) => ({ wanted, at: question.at, known: question.known })),
    )
    const rows = yield* Effect.exit(repo.findUsage(questions))
    if (Exit.isFailure(rows)) {
      const checks = waiting.map(({ check }) => check)
      return yield* runAll(statementsFor(checks, false))
    }
    const byNumber: Array<UsageRow | undefined> = []
    for (const row of rows.value) byNumber[row.number] = row
    const outdated: Array<WaitingCheck> = []
    let start = 0
    for (const { check, known } of waiting) {
      const end = start + known.usage.questions.length
      const own = byNumber.slice(start, end).filter((row) => row !== undefined)
      start = end
      const basis = answerCache.basisOf(known, check.question.instance, own, check.question.at)
      if (basis === undefined) outdated.push(check)
      else check.answer(Exit.succeed(basis))
    }
    if (outdated.length > 0) yield* runAll(statementsFor(outdated, false))
  })

  return makeRequestBatcher<CheckQuestion, CheckBasis | undefined>((waiting) => {
    const allKnown: Array<WaitingKnown> = []
    const unknown: Array<WaitingCheck> = []
    for (const check of waiting) {
      const known = answerCache.knownCheckOf(check.question)
      if (known === undefined) unknown.push(check)
      else allKnown.push({ check, known })
    }
    return runAll([
      ...splitChecks(allKnown, ({ known }) => known.usage.entitlements.length).map(findUsage),
      ...statementsFor(unknown, repo.separatesOrganizations),
    ])
  })
}
