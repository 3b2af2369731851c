/**
 * Finds a wrong secret key before anything uses it. Otherwise every token would get 401, and new values would be stored
 * under a key that no other process has.
 */
import { Context, Effect, Exit, Layer, Option } from "effect"
import type { Redacted } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { sqlStateOf } from "../../kernel/database/Statements.ts"
import { Secrets } from "../../kernel/ports/KeyRing.ts"
import { SecretBox } from "../../kernel/ports/SecretBox.ts"
import { isSameSecret } from "../../kernel/values/SecretComparison.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import { TokenHasher } from "../access/tokens/TokenHasher.ts"
import { isFitting } from "./SecretKeyRules.ts"
import type { KeyCheck, Opening } from "./SecretKeyRules.ts"
import { SecretKeysRepo } from "./SecretKeysRepo.ts"

/**
 * The maximum number of values to open per kind and key. It finds a key that was changed, and is fast on any database.
 */
const MAX_OPENED = 1_000

// A read-only database; a role without the privilege to insert.
const CANNOT_WRITE = new Set(["25006", "42501"])

/** Compares the installation's keys with the database. */
export class SecretKeys extends Context.Service<
  SecretKeys,
  {
    /** Compares each key with its stored check value. */
    readonly checks: Effect.Effect<ReadonlyMap<string, KeyCheck>, SqlError>
    /** Opens stored values that need one of these keys. Of the tokens, only `knownToken` has a known text. */
    readonly openings: (
      ids: ReadonlyArray<string>,
      knownToken: Option.Option<Redacted.Redacted>,
    ) => Effect.Effect<ReadonlyArray<Opening>>
    /**
     * Compares each key with its check value, and stores the check value of a key that has none and opens stored values.
     * Returns the ids of keys that do not fit. Of two processes with different keys for a new id, the first to store its
     * check value is right.
     */
    readonly confirm: (knownToken: Option.Option<Redacted.Redacted>) => Effect.Effect<ReadonlyArray<string>, SqlError>
  }
>()("keyshelf/maintenance/SecretKeys") {
  static readonly layer = Layer.suspend(() => Layer.effect(SecretKeys, make))
}

/** Opens stored values of the tables that have sealed ones, and a token. */
const openingsOf = Effect.gen(function* () {
  const box = yield* SecretBox
  const hasher = yield* TokenHasher
  const repo = yield* SecretKeysRepo

  const sealedOpenings = Effect.fnUntraced(function* (key: string) {
    const found: Array<Opening> = []
    for (const kind of yield* repo.sealedWith(key, MAX_OPENED)) {
      const opened = yield* Effect.forEach(kind.values, ({ place, sealed }) => Effect.exit(box.open(place, sealed)))
      if (opened.length === 0) continue
      found.push({ what: kind.what, key, tried: opened.length, opened: opened.filter(Exit.isSuccess).length })
    }
    return found
  })

  const tokenOpening = Effect.fnUntraced(function* (token: Redacted.Redacted) {
    const stored = yield* repo.findToken(hasher.lookupHash(token))
    return Option.toArray(stored).map((row): Opening => ({
      what: "tokens (the one of SERVICE_BOOTSTRAP_PLATFORM_CREDENTIAL)",
      key: row.pepperId,
      tried: 1,
      opened: hasher.verify(token, row) ? 1 : 0,
    }))
  })

  return Effect.fnUntraced(function* (ids: ReadonlyArray<string>, knownToken: Option.Option<Redacted.Redacted>) {
    if (ids.length === 0) return []
    const sealed = yield* Effect.forEach(ids, sealedOpenings)
    const tokens = yield* Effect.forEach(Option.toArray(knownToken), tokenOpening)
    return [...sealed.flat(), ...tokens.flat()].filter(({ key }) => ids.includes(key))
  })
})

const make = Effect.gen(function* () {
  const repo = yield* SecretKeysRepo
  const openings = yield* openingsOf
  // The purpose makes a check value independent of every key that hashes, encrypts or signs.
  const values = (yield* Secrets).keysFor("check-value").map(({ bytes, id }) => ({ id, value: bytes }))

  const checks = Effect.map(repo.checks, (stored) => {
    const byId = new Map(stored.map(({ id, value }) => [id, value]))
    return new Map(
      values.map(({ id, value }): [string, KeyCheck] => {
        const known = byId.get(id)
        if (known === undefined) return [id, "none"]
        return [id, isSameSecret(known, value) ? "same" : "different"]
      }),
    )
  })

  // When a key is new to the database, another one may have been left out by mistake.
  const logMissingKeys = Effect.gen(function* () {
    const needed = new Set((yield* repo.uses(yield* now)).map(({ key }) => key))
    const missing = [...needed].filter((id) => !values.some((value) => value.id === id))
    if (missing.length === 0) return
    yield* Effect.logWarning(
      "Stored tokens or secrets need keys that this process does not have: they do not work. The command `doctor` counts them.",
    ).pipe(Effect.annotateLogs({ keys: missing.join(",") }))
  })

  const store = (ids: ReadonlyArray<string>) => {
    const added = values.filter(({ id }) => ids.includes(id))
    return Effect.flatMap(now, (at) => repo.storeChecks(added, at)).pipe(
      Effect.catchIf(
        ({ reason }) => CANNOT_WRITE.has(sqlStateOf(reason)),
        ({ reason }) =>
          Effect.logWarning("The check values of new secret keys cannot be stored; the next start retries").pipe(
            Effect.annotateLogs({ keys: ids.join(","), sqlState: sqlStateOf(reason) }),
          ),
      ),
    )
  }

  return SecretKeys.of({
    checks,
    openings,
    confirm: Effect.fnUntraced(function* (knownToken) {
      const before = yield* checks
      const added = values.map(({ id }) => id).filter((id) => before.get(id) === "none")
      const opened = yield* openings(added, knownToken)
      const unfit = [...before].flatMap(([id, check]) =>
        isFitting(
          check,
          opened.filter(({ key }) => key === id),
        )
          ? []
          : [id],
      )
      if (unfit.length > 0 || added.length === 0) return unfit
      yield* store(added)
      yield* logMissingKeys
      return [...(yield* checks)].flatMap(([id, check]) => (check === "different" ? [id] : []))
    }),
  })
})
