/** Use cases of flag evaluation: feature flags, and the entitlements of instances as flags. */
import { Context as Service, Effect, Layer, Option, Schema } from "effect"
import { mapInPieces } from "../../../kernel/concurrency/Pieces.ts"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { noSuch } from "../../../kernel/contract/Problem.ts"
import { Slug } from "../../../kernel/values/Slug.ts"
import { InstanceNotFound } from "../../instances/Errors.ts"
import type { Standing } from "../../usage/check/Model.ts"
import { Usage } from "../../usage/check/Service.ts"
import { entitlementFlag } from "./EntitlementFlags.ts"
import { ENTITLEMENT_PREFIX, FlagKey } from "../Model.ts"
import type { BulkEvaluation, Context, Evaluation } from "./Model.ts"
import { FlagsRepo } from "../Repo.ts"
import { evaluate, targetingKeyMissing, targetingKeyOf } from "./Targeting.ts"

// Malformed keys and slugs are not queried: they match nothing, and PostgreSQL cannot store some of them (NUL).
const isSlug = Schema.is(Slug)
const isKey = Schema.is(FlagKey)

const notFound = (key: string, details: string): Evaluation => ({
  key,
  errorCode: "FLAG_NOT_FOUND",
  errorDetails: details,
})

const byKey = (left: Evaluation, right: Evaluation): number => (left.key < right.key ? -1 : 1)

/** Evaluates the flags of the caller's organization. */
export class Evaluations extends Service.Service<
  Evaluations,
  {
    /** Evaluates one flag. Products may call this for each of their own requests. */
    readonly evaluate: (key: string, sent: Context) => Effect.Effect<Evaluation, InstanceNotFound, Caller>
    /** Evaluates all flags, and all entitlements if the targeting key names an instance. Sorted by key. */
    readonly all: (sent: Context) => Effect.Effect<BulkEvaluation, InstanceNotFound, Caller>
    /** Evaluates all flags but those of entitlements. Sorted by key. */
    readonly flags: (context: Context) => Effect.Effect<ReadonlyArray<Evaluation>, never, Caller>
  }
>()("keyshelf/flags/Evaluations") {
  static readonly layer = Layer.effect(
    Evaluations,
    Effect.suspend(() => make),
  )
}

const make = Effect.gen(function* () {
  const repo = yield* FlagsRepo
  const usage = yield* Usage

  const standings = (instanceSlug: string, entitlements: ReadonlyArray<string> | null) =>
    isSlug(instanceSlug) && (entitlements === null || entitlements.every((slug) => isSlug(slug)))
      ? usage.standings(instanceSlug, entitlements)
      : Effect.succeed<ReadonlyArray<Standing>>([])

  const evaluateEntitlement = Effect.fnUntraced(function* (key: string, context: Context) {
    const targetingKey = targetingKeyOf(context)
    if (targetingKey === undefined) return targetingKeyMissing(key)
    const [standing] = yield* standings(targetingKey, [key.slice(ENTITLEMENT_PREFIX.length)])
    return standing === undefined
      ? notFound(
          key,
          `The flag "${key}" or the instance in the targeting key does not exist. Check the entitlement's slug and the instance's slug.`,
        )
      : entitlementFlag(standing)
  })

  const evaluateFlag = Effect.fnUntraced(function* (key: string, context: Context) {
    const { organizationId } = yield* Caller
    const flag = isKey(key) ? yield* repo.findForEvaluation(organizationId, key) : Option.none()
    return Option.isSome(flag) ? evaluate(flag.value, context) : notFound(key, `The flag "${key}" does not exist.`)
  })

  const evaluateFlags = Effect.fnUntraced(function* (context: Context) {
    const { organizationId } = yield* Caller
    return yield* mapInPieces(yield* repo.listForEvaluation(organizationId), (flag) => evaluate(flag, context))
  })

  const evaluateAll = Effect.fn("Evaluations.evaluateAll")(function* (context: Context) {
    const targetingKey = targetingKeyOf(context)
    const [evaluations, entitlements] = yield* Effect.all(
      [evaluateFlags(context), targetingKey === undefined ? Effect.succeed([]) : standings(targetingKey, null)],
      { concurrency: 2 },
    )
    return {
      flags: [...evaluations, ...entitlements.map(entitlementFlag)].sort(byKey),
      metadata: {},
    } satisfies BulkEvaluation
  })

  /** The context of a caller. For a license key, only its own instance exists, which is also the default. */
  const contextOf = Effect.fnUntraced(function* (context: Context) {
    const { confinedTo } = yield* Caller
    if (confinedTo === undefined) return context
    const targetingKey = targetingKeyOf(context) ?? confinedTo.slug
    if (targetingKey === confinedTo.slug) return { ...context, targetingKey }
    return yield* new InstanceNotFound({ detail: noSuch("instance", targetingKey) })
  })

  return {
    evaluate: (key: string, sent: Context) =>
      Effect.flatMap(contextOf(sent), (context) =>
        key.startsWith(ENTITLEMENT_PREFIX) ? evaluateEntitlement(key, context) : evaluateFlag(key, context),
      ),
    all: (sent: Context) => Effect.flatMap(contextOf(sent), evaluateAll),
    flags: (context: Context) => Effect.map(evaluateFlags(context), (flags) => flags.toSorted(byKey)),
  }
})
