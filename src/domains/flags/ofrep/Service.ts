/** Use cases of flag evaluation: feature flags, and the entitlements of instances as flags. */
import { Context as Service, Effect, Layer, Option, Schema } from "effect"
import { makeLruCache } from "../../../kernel/concurrency/LruCache.ts"
import { mapInPieces } from "../../../kernel/concurrency/Pieces.ts"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { Slug } from "../../../kernel/values/Slug.ts"
import { ENTITLEMENT_PREFIX } from "../../../offline/EntitlementFlags.ts"
import { evaluateRule, targetingKeyMissing } from "../../../offline/Flags.ts"
import type { FlagRule } from "../../../offline/Flags.ts"
import type { Standing } from "../../usage/check/Model.ts"
import { Checks } from "../../usage/check/Service.ts"
import { flagOfStanding } from "./EntitlementFlags.ts"
import { FlagKey } from "../Model.ts"
import type { EvaluatedFlag } from "../Model.ts"
import { byKey, entitlementNotFound, flagNotFound } from "./Model.ts"
import type { BulkEvaluation, Context, Evaluation } from "./Model.ts"
import { FlagsRepo } from "../Repo.ts"
import { FactsRepo } from "./FactsRepo.ts"
import { factsOf, namedFacts, reduce } from "./ReductionRules.ts"
import type { Facts } from "./ReductionRules.ts"

// Malformed keys and slugs are not queried: they match nothing, and PostgreSQL cannot store some of them (NUL).
const isSlug = Schema.is(Slug)
const isKey = Schema.is(FlagKey)

/** Returns the targeting key of a context. An empty key counts as absent. */
const targetingKeyOf = ({ targetingKey }: Context): string | undefined =>
  targetingKey === undefined || targetingKey === "" ? undefined : targetingKey

/** The context of an evaluation, and the slug of the instance that it is about, if any. */
interface Subject {
  readonly context: Context
  readonly instance: string | undefined
}

/** Evaluates the flags of the caller's organization. */
export class Evaluations extends Service.Service<
  Evaluations,
  {
    /** Evaluates one flag. Products may call this for each of their own requests. */
    readonly evaluate: (key: string, sent: Context) => Effect.Effect<Evaluation, never, Caller>
    /** Evaluates all flags, and all entitlements if the context is about an instance. Sorted by key. */
    readonly all: (sent: Context) => Effect.Effect<BulkEvaluation, never, Caller>
    /** The rules of all flags, reduced for an instance; without the entitlements. The context decides the rest. Sorted by key. */
    readonly rules: (instance: string) => Effect.Effect<ReadonlyArray<FlagRule>, never, Caller>
  }
>()("keyshelf/flags/Evaluations") {
  static readonly layer = Layer.suspend(() => Layer.effect(Evaluations, make))
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

/** The slug of the instance that a caller's context is about, if any. It may not exist. */
export const instanceOf = (context: Context) => Effect.map(subjectOf(context), ({ instance }) => instance)

/** Reads the standings and the facts of an instance. */
const instanceReader = Effect.gen(function* () {
  const subjects = yield* FactsRepo
  const checks = yield* Checks

  const standings = (instance: string, entitlements: ReadonlyArray<string> | null) =>
    entitlements === null || entitlements.every((slug) => isSlug(slug))
      ? checks.standings(instance, entitlements)
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

/** The flags of an organization as they were in a version, and their rules if none of them names a fact. */
interface KnownFlags {
  readonly version: string
  readonly flags: ReadonlyArray<EvaluatedFlag>
  readonly rules: ReadonlyArray<FlagRule> | undefined
}

const MAX_CACHED_FLAGS = 20_000

/**
 * Reads rules. Snapshots are read often, and flags change rarely, so flags are cached, and read again when the version of their rows
 * differs. The version is read first: a cached flag is never newer than it.
 */
const rulesReader = Effect.gen(function* () {
  const repo = yield* FlagsRepo
  const { readFacts } = yield* instanceReader
  const cache = makeLruCache<KnownFlags>(MAX_CACHED_FLAGS, ({ flags }) => flags.length + 1)
  const reduceAll = Effect.fnUntraced(function* (flags: ReadonlyArray<EvaluatedFlag>, facts?: Facts) {
    return (yield* mapInPieces(flags, (flag) => reduce(flag, facts))).toSorted(byKey)
  })

  return Effect.fnUntraced(function* (instance: string) {
    const { organizationId } = yield* Caller
    const version = yield* repo.versionOf(organizationId)
    const cached = cache.get(organizationId)
    if (cached?.version === version && cached.rules !== undefined) return cached.rules
    const flags = cached?.version === version ? cached.flags : yield* repo.listForEvaluation(organizationId)
    const rules = yield* reduceAll(flags, yield* readFacts(flags, instance))
    const known = { version, flags, rules: namedFacts(flags) === undefined ? rules : undefined }
    if (flags.length < MAX_CACHED_FLAGS / 2) cache.set(organizationId, known)
    return rules
  })
})

const make = Effect.gen(function* () {
  const repo = yield* FlagsRepo
  const { readFacts, standings } = yield* instanceReader
  const readRules = yield* rulesReader

  const evaluateEntitlement = Effect.fnUntraced(function* (key: string, { context, instance }: Subject) {
    if (instance === undefined && targetingKeyOf(context) === undefined) return targetingKeyMissing(key)
    const [standing] = instance === undefined ? [] : yield* standings(instance, [key.slice(ENTITLEMENT_PREFIX.length)])
    return standing === undefined ? entitlementNotFound(key) : flagOfStanding(standing)
  })

  const evaluateFlag = Effect.fnUntraced(function* (key: string, { context, instance }: Subject) {
    const { organizationId } = yield* Caller
    const flag = isKey(key) ? yield* repo.findForEvaluation(organizationId, key) : Option.none()
    if (Option.isNone(flag)) return flagNotFound(key)
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
      flags: [...evaluations, ...entitlements.map(flagOfStanding)].sort(byKey),
      metadata: {},
    } satisfies BulkEvaluation
  })

  return {
    evaluate: (key: string, sent: Context) =>
      Effect.flatMap(subjectOf(sent), (subject) =>
        key.startsWith(ENTITLEMENT_PREFIX) ? evaluateEntitlement(key, subject) : evaluateFlag(key, subject),
      ),
    all: (sent: Context) => Effect.flatMap(subjectOf(sent), evaluateAll),
    rules: readRules,
  }
})
