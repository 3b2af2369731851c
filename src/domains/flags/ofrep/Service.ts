/** Use cases of flag evaluation: feature flags, and the entitlements of instances as flags. */
import { Context as Service, Effect, Layer, Option, Schema } from "effect"
import { mapInPieces } from "../../../kernel/concurrency/Pieces.ts"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { Slug } from "../../../kernel/values/Slug.ts"
import { evaluateRule, targetingKeyMissing } from "../../../offline/Flags.ts"
import type { Standing } from "../../usage/check/Model.ts"
import { Usage } from "../../usage/check/Service.ts"
import { entitlementFlag } from "./EntitlementFlags.ts"
import { ENTITLEMENT_PREFIX, FlagKey } from "../Model.ts"
import type { EvaluatedFlag } from "../Model.ts"
import type { BulkEvaluation, Context, Evaluation } from "./Model.ts"
import { FlagsRepo } from "../Repo.ts"
import { FactsRepo } from "./FactsRepo.ts"
import { factsOf, namedFacts, reduce } from "./ReductionRules.ts"

// Malformed keys and slugs are not queried: they match nothing, and PostgreSQL cannot store some of them (NUL).
const isSlug = Schema.is(Slug)
const isKey = Schema.is(FlagKey)

const notFound = (key: string, details: string): Evaluation => ({
  key,
  errorCode: "FLAG_NOT_FOUND",
  errorDetails: details,
})

/** Returns the targeting key of a context. An empty key counts as absent. */
const targetingKeyOf = ({ targetingKey }: Context): string | undefined =>
  targetingKey === undefined || targetingKey === "" ? undefined : targetingKey

/** The context of an evaluation, and the slug of the instance that it is about, if any. */
interface Subject {
  readonly context: Context
  readonly instance: string | undefined
}

const byKey = (left: Evaluation, right: Evaluation): number => (left.key < right.key ? -1 : 1)

/** Evaluates the flags of the caller's organization. */
export class Evaluations extends Service.Service<
  Evaluations,
  {
    /** Evaluates one flag. Products may call this for each of their own requests. */
    readonly evaluate: (key: string, sent: Context) => Effect.Effect<Evaluation, never, Caller>
    /** Evaluates all flags, and all entitlements if the context is about an instance. Sorted by key. */
    readonly all: (sent: Context) => Effect.Effect<BulkEvaluation, never, Caller>
    /** Evaluates all flags for an instance, but those of entitlements. Sorted by key. */
    readonly flags: (sent: Context, instance: string) => Effect.Effect<ReadonlyArray<Evaluation>, never, Caller>
  }
>()("keyshelf/flags/Evaluations") {
  static readonly layer = Layer.effect(
    Evaluations,
    Effect.suspend(() => make),
  )
}

/**
 * What a caller's context is about. The instance of a license key is always its own, which is also the default of its targeting
 * key; otherwise it is the one that the targeting key names.
 */
const subjectOf = Effect.fnUntraced(function* (context: Context) {
  const { confinedTo } = yield* Caller
  const targetingKey = targetingKeyOf(context)
  if (confinedTo !== undefined) {
    return { context: { ...context, targetingKey: targetingKey ?? confinedTo.slug }, instance: confinedTo.slug }
  }
  return { context, instance: targetingKey !== undefined && isSlug(targetingKey) ? targetingKey : undefined }
})

/** Reads the standings and the facts of an instance. */
const instanceReader = Effect.gen(function* () {
  const subjects = yield* FactsRepo
  const usage = yield* Usage

  const standings = (instance: string, entitlements: ReadonlyArray<string> | null) =>
    entitlements === null || entitlements.every((slug) => isSlug(slug))
      ? usage.standings(instance, entitlements)
      : Effect.succeed<ReadonlyArray<Standing>>([])

  const findSubject = Effect.fnUntraced(function* (instance: string) {
    const { organizationId } = yield* Caller
    return Option.getOrUndefined(yield* subjects.findSubject(organizationId, instance))
  })

  /** Reads the facts that flags name. Most flags name none. Standings that are already known are not read again. */
  const readFacts = Effect.fnUntraced(function* (
    flags: ReadonlyArray<EvaluatedFlag>,
    instance: string | undefined,
    known?: ReadonlyArray<Standing>,
  ) {
    const named = instance === undefined ? undefined : namedFacts(flags)
    if (instance === undefined || named === undefined) return undefined
    const slugs = named.entitlements.filter((slug) => isSlug(slug))
    const [subject, granted] = yield* Effect.all(
      [
        named.ofInstance ? findSubject(instance) : Effect.undefined,
        known === undefined && slugs.length > 0 ? standings(instance, slugs) : Effect.succeed(known ?? []),
      ],
      { concurrency: 2 },
    )
    return named.ofInstance && subject === undefined ? undefined : factsOf(subject, granted)
  })

  return { readFacts, standings }
})

const make = Effect.gen(function* () {
  const repo = yield* FlagsRepo
  const { readFacts, standings } = yield* instanceReader

  const evaluateEntitlement = Effect.fnUntraced(function* (key: string, { context, instance }: Subject) {
    if (instance === undefined && targetingKeyOf(context) === undefined) return targetingKeyMissing(key)
    const [standing] = instance === undefined ? [] : yield* standings(instance, [key.slice(ENTITLEMENT_PREFIX.length)])
    return standing === undefined
      ? notFound(
          key,
          `The flag "${key}" or the instance in the targeting key does not exist. Check the entitlement's slug and the instance's slug.`,
        )
      : entitlementFlag(standing)
  })

  const evaluateFlag = Effect.fnUntraced(function* (key: string, { context, instance }: Subject) {
    const { organizationId } = yield* Caller
    const flag = isKey(key) ? yield* repo.findForEvaluation(organizationId, key) : Option.none()
    if (Option.isNone(flag)) return notFound(key, `The flag "${key}" does not exist.`)
    return evaluateRule(reduce(flag.value, yield* readFacts([flag.value], instance)), context)
  })

  const evaluateFlags = Effect.fnUntraced(function* (
    flags: ReadonlyArray<EvaluatedFlag>,
    { context, instance }: Subject,
    known?: ReadonlyArray<Standing>,
  ) {
    const facts = yield* readFacts(flags, instance, known)
    return yield* mapInPieces(flags, (flag): Evaluation => evaluateRule(reduce(flag, facts), context))
  })

  const evaluateAll = Effect.fn("Evaluations.evaluateAll")(function* (subject: Subject) {
    const { organizationId } = yield* Caller
    const { instance } = subject
    const [flags, entitlements] = yield* Effect.all(
      [repo.listForEvaluation(organizationId), instance === undefined ? Effect.succeed([]) : standings(instance, null)],
      { concurrency: 2 },
    )
    const evaluations = yield* evaluateFlags(flags, subject, entitlements)
    return {
      flags: [...evaluations, ...entitlements.map(entitlementFlag)].sort(byKey),
      metadata: {},
    } satisfies BulkEvaluation
  })

  return {
    evaluate: (key: string, sent: Context) =>
      Effect.flatMap(subjectOf(sent), (subject) =>
        key.startsWith(ENTITLEMENT_PREFIX) ? evaluateEntitlement(key, subject) : evaluateFlag(key, subject),
      ),
    all: (sent: Context) => Effect.flatMap(subjectOf(sent), evaluateAll),
    flags: Effect.fnUntraced(function* (sent: Context, instance: string) {
      const { organizationId } = yield* Caller
      const flags = yield* repo.listForEvaluation(organizationId)
      const context = { ...sent, targetingKey: instance }
      return (yield* evaluateFlags(flags, { context, instance })).toSorted(byKey)
    }),
  }
})
