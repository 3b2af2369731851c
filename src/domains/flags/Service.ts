/** Use cases of feature flags. */
import { Context, Effect, Layer, Option } from "effect"
import { Events } from "../events/Service.ts"
import { Caller } from "../../kernel/contract/Caller.ts"
import { requireUnchanged } from "../../kernel/contract/Rewritable.ts"
import { newId } from "../../kernel/values/Identifiers.ts"
import { byId, Cursors } from "../../kernel/contract/Page.ts"
import type { Page, PageRequest } from "../../kernel/contract/Page.ts"
import { noSuch, ValidationFailed } from "../../kernel/contract/Problem.ts"
import type { InvalidCursor } from "../../kernel/contract/Problem.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import { Transactions } from "../../kernel/database/Transactions.ts"
import { CreateFeatureFlagKeyTaken, FeatureFlagNotFound } from "./Errors.ts"
import { UpdateFeatureFlag } from "./Model.ts"
import type { CreateFeatureFlag, FeatureFlag, Manifest } from "./Model.ts"
import { FlagsRepo } from "./Repo.ts"
import { applyUpdate, validateFlag, toManifestFlag } from "./Rules.ts"

const notFound = (key: string) => new FeatureFlagNotFound({ detail: noSuch("feature flag", key) })

const validate = Effect.fnUntraced(function* (flag: FeatureFlag) {
  const errors = validateFlag(flag)
  const [first] = errors
  if (first === undefined) return flag
  return yield* new ValidationFailed({
    detail:
      errors.length === 1
        ? `${first.location} ${first.message}.`
        : `The flag has ${errors.length} validation errors; \`errors\` lists them.`,
    errors,
  })
})

/** Manages the feature flags of the caller's organization. */
export class FeatureFlags extends Context.Service<
  FeatureFlags,
  {
    /** Creates a flag, unless one has its key. */
    readonly create: (
      input: CreateFeatureFlag,
    ) => Effect.Effect<FeatureFlag, ValidationFailed | CreateFeatureFlagKeyTaken, Caller>
    /** The flag with a key. */
    readonly get: (key: string) => Effect.Effect<FeatureFlag, FeatureFlagNotFound, Caller>
    /** A page of flags, newest first. */
    readonly list: (request: PageRequest) => Effect.Effect<Page<FeatureFlag>, InvalidCursor, Caller>
    /** Changes a flag. Its key and its type never change. */
    readonly update: (
      key: string,
      input: UpdateFeatureFlag,
    ) => Effect.Effect<void, ValidationFailed | FeatureFlagNotFound, Caller>
    /** Deletes a flag. Evaluations no longer find it. */
    readonly delete: (key: string) => Effect.Effect<void, FeatureFlagNotFound, Caller>
    /** The flags with a fallback value, for products without a connection. Sorted by key. */
    readonly manifest: () => Effect.Effect<Manifest, never, Caller>
  }
>()("keyshelf/flags/FeatureFlags") {
  static readonly layer = Layer.suspend(() => Layer.effect(FeatureFlags, make))
}

/** Creates a flag, unless one has its key. */
const creation = Effect.gen(function* () {
  const repo = yield* FlagsRepo
  const events = yield* Events
  const transactions = yield* Transactions

  return Effect.fn("FeatureFlags.create")(function* (input: CreateFeatureFlag) {
    const caller = yield* Caller
    const at = yield* now
    const flag = yield* validate({
      id: yield* newId,
      key: input.key,
      type: input.type,
      ...applyUpdate(input.key, input),
      createdAt: at,
      updatedAt: at,
      createdBy: caller.actor,
      updatedBy: caller.actor,
    })
    return yield* transactions.run(
      Effect.gen(function* () {
        if (!(yield* repo.insert(caller.organizationId, flag))) {
          return yield* new CreateFeatureFlagKeyTaken({
            detail: `Another feature flag has the key "${flag.key}". Choose a different key.`,
          })
        }
        yield* events.emit(caller, "FEATURE_FLAG_CREATED", flag)
        return flag
      }),
    )
  })
})

const make = Effect.gen(function* () {
  const repo = yield* FlagsRepo
  const events = yield* Events
  const cursors = yield* Cursors
  const transactions = yield* Transactions

  const get = Effect.fnUntraced(function* (key: string) {
    const { organizationId } = yield* Caller
    const flag = yield* repo.findByKey(organizationId, key)
    return Option.isSome(flag) ? flag.value : yield* notFound(key)
  })

  const list = Effect.fn("FeatureFlags.list")(function* (request: PageRequest) {
    const { organizationId } = yield* Caller
    return yield* cursors.page(
      { name: "feature-flags", organizationId },
      request,
      (after, count) => repo.list(organizationId, after, count),
      byId,
    )
  })

  const update = Effect.fn("FeatureFlags.update")(function* (key: string, input: UpdateFeatureFlag) {
    const caller = yield* Caller
    yield* transactions.run(
      Effect.gen(function* () {
        const current = yield* repo.lockByKey(caller.organizationId, key)
        if (Option.isNone(current)) return yield* notFound(key)
        yield* requireUnchanged(UpdateFeatureFlag, current.value, input)
        const updated = yield* validate({
          ...current.value,
          ...applyUpdate(key, input, current.value),
          updatedAt: yield* now,
          updatedBy: caller.actor,
        })
        yield* repo.update(caller.organizationId, updated)
        yield* events.emitChange(caller, "FEATURE_FLAG_UPDATED", current.value, updated)
      }),
    )
  })

  const remove = Effect.fn("FeatureFlags.delete")(function* (key: string) {
    const caller = yield* Caller
    yield* transactions.run(
      Effect.gen(function* () {
        const flag = yield* repo.lockByKey(caller.organizationId, key)
        if (Option.isNone(flag)) return yield* notFound(key)
        yield* repo.delete(caller.organizationId, flag.value.id)
        yield* events.emit(caller, "FEATURE_FLAG_DELETED", flag.value)
      }),
    )
  })

  const manifest = Effect.fn("FeatureFlags.manifest")(function* () {
    const { organizationId } = yield* Caller
    const flags = yield* repo.listForManifest(organizationId)
    return { flags: flags.map(toManifestFlag) } satisfies Manifest
  })

  return { create: yield* creation, get, list, update, delete: remove, manifest }
})
