/** Decides the checks of an installation as this version does, as of a time. */
import { Clock, Effect, Option, Stream } from "effect"
import type { BulkEvaluation } from "../../domains/flags/ofrep/Model.ts"
import { Evaluations } from "../../domains/flags/ofrep/Service.ts"
import { Checks } from "../../domains/usage/check/Service.ts"
import { ReplayRepo } from "../../domains/usage/replay/Repo.ts"
import { bySystem, Caller, platformIdentity } from "../../kernel/contract/Caller.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"
import { DAY_MS, instantText } from "../../kernel/values/Timestamp.ts"
import { differences } from "./Answers.ts"
import type { Answer, Difference, Line, Question } from "./Answers.ts"

/** Usage events of the last day that are checked again at most: the newest ones. */
const MAX_EVENTS = 1_000_000

/** The database batches the checks that wait; more of them would only take memory. */
const CONCURRENCY = 64

/** The clock of an instant. Sleeps and timeouts are unchanged. */
const stoppedAt = (system: Clock.Clock, at: Date): Clock.Clock => {
  const millis = () => at.getTime()
  const nanos = () => BigInt(at.getTime()) * 1_000_000n
  return Object.assign(Object.create(system) as Clock.Clock, {
    currentTimeMillisUnsafe: millis,
    currentTimeMillis: Effect.sync(millis),
    currentTimeNanosUnsafe: nanos,
    currentTimeNanos: Effect.sync(nanos),
  })
}

const callerIn = (organizationId: OrganizationId): Caller["Service"] => ({
  ...bySystem,
  credentialId: platformIdentity.id,
  scopes: [],
  organizationId,
})

/** The time of a backup: of the newest event or report in it. Both versions derive the same from the same backup. */
export const timeOfBackup = Effect.gen(function* () {
  const { newestTime } = yield* ReplayRepo
  return Option.getOrElse(yield* newestTime, () => new Date(0))
})

/** The answer of a check, without what the question says already. */
const answerOf = (text: string): Answer => {
  const { checks, graceEndsAt, license } = JSON.parse(text)
  const [{ entitlement: _, ...answer }] = checks
  return { license, graceEndsAt, ...answer }
}

/** The evaluations of an organization's flags by key. Metadata of flags stays in the database. */
const flagAnswers = ({ flags }: BulkEvaluation): ReadonlyMap<string, Answer> =>
  new Map(
    flags.map(({ key, ...evaluation }): readonly [string, Answer] => {
      if (!("metadata" in evaluation)) return [key, evaluation]
      const { metadata: _, ...answer } = evaluation
      return [key, answer]
    }),
  )

/** How much to request of what an answer says remains: all of it, and one more. Nothing if it is no limit. */
const beyond = ({ remaining }: Answer): ReadonlyArray<number> =>
  typeof remaining === "number" && remaining >= 0 ? [remaining, remaining + 1] : []

/** Decides the checks and flags of a backup. */
interface Decider {
  readonly decide: (question: Question) => Effect.Effect<Answer>
  /** All that is decided of a backup, with the answers of this version. */
  readonly decideAll: Stream.Stream<Line>
}

const isFlag = (question: Question) => "flag" in question

/** Decides one question. */
const makeDecide = Effect.fnUntraced(function* (at: Date) {
  const { checkAsText } = yield* Checks
  const evaluations = yield* Evaluations
  const { organizations } = yield* ReplayRepo
  const clock = stoppedAt(yield* Clock.Clock, at)
  const ids = new Map((yield* organizations).map(({ id, slug }) => [slug, id] as const))
  const flags = new Map<string, ReadonlyMap<string, Answer>>()

  const within = <A, E extends { readonly _tag: string }>(organization: string, work: Effect.Effect<A, E, Caller>) => {
    const id = ids.get(organization)
    if (id === undefined) return Effect.fail("OrganizationNotFound")
    return work.pipe(
      Effect.mapError(({ _tag }) => _tag),
      Effect.provideService(Caller, callerIn(id)),
      Effect.provideService(Clock.Clock, clock),
    )
  }

  const flagsOf = Effect.fnUntraced(function* (organization: string) {
    const known = flags.get(organization)
    if (known !== undefined) return known
    const found = flagAnswers(yield* within(organization, evaluations.all({})))
    flags.set(organization, found)
    return found
  })

  const decide = (question: Question) => {
    const answer = isFlag(question)
      ? Effect.map(
          flagsOf(question.organization),
          (found): Answer => found.get(question.flag) ?? { error: "FlagNotFound" },
        )
      : Effect.map(
          within(
            question.organization,
            checkAsText(question.instance, {
              checks: [{ entitlement: question.entitlement, requested: question.requested }],
              ...(question.at === undefined ? {} : { at: new Date(question.at) }),
            }),
          ),
          answerOf,
        )
    return Effect.catch(answer, (error) => Effect.succeed<Answer>({ error }))
  }
  return { decide, flagsOf, organizations: [...ids.keys()] }
})

/** Decides as of a time, that of the backup. */
export const makeDecider = Effect.fnUntraced(function* (at: Date) {
  const { grants, uses } = yield* ReplayRepo
  const { decide, flagsOf, organizations } = yield* makeDecide(at)
  const answered = <Q extends Question>(question: Q) =>
    Effect.map(decide(question), (answer) => ({ ...question, answer }))

  const ofGrants = Stream.mapEffect(
    grants,
    (grant) =>
      Effect.gen(function* () {
        const first = yield* answered({ ...grant, requested: 0 })
        const requested = new Set([1, ...beyond(first.answer)].filter((quantity) => quantity > 0))
        return [first, ...(yield* Effect.forEach(requested, (quantity) => answered({ ...grant, requested: quantity })))]
      }),
    { concurrency: CONCURRENCY },
  ).pipe(Stream.flattenIterable)

  const ofFlags = Stream.fromIterable(organizations).pipe(
    Stream.mapEffect((organization) =>
      flagsOf(organization).pipe(
        Effect.map((found) => Array.from(found, ([flag, answer]) => ({ organization, flag, answer }))),
        Effect.catch(() => Effect.succeed([])),
      ),
    ),
    Stream.flattenIterable,
  )

  const ofUses = uses(new Date(at.getTime() - DAY_MS), at, MAX_EVENTS).pipe(
    Stream.mapEffect((use) => answered({ ...use, at: instantText(use.at) }), { concurrency: CONCURRENCY }),
  )

  const decideAll: Stream.Stream<Line> = ofGrants.pipe(Stream.concat(ofFlags), Stream.concat(ofUses))
  return { decide, decideAll } satisfies Decider
})

/** Compares recorded answers with those of a decider. Calls `differing` for each that differs, and returns how many were compared. */
export const compareAll = Effect.fnUntraced(function* <E>(
  { decide }: Pick<Decider, "decide">,
  recorded: Stream.Stream<Line, E>,
  differing: (difference: Difference) => void,
) {
  return yield* recorded.pipe(
    Stream.mapEffect((line) => Effect.map(decide(line), (after) => differences(line, after)), {
      concurrency: CONCURRENCY,
    }),
    Stream.runFold(
      () => 0,
      (count, found) => {
        found.forEach(differing)
        return count + 1
      },
    ),
  )
})
