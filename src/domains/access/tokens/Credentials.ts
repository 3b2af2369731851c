/** Verifies credentials and records their last use. */
import { Context, Effect, Exit, Layer, Option, Redacted, Schedule } from "effect"
import { makeRequestBatcher } from "../../../kernel/concurrency/RequestBatcher.ts"
import { invalidCredential } from "../../../kernel/contract/Problem.ts"
import type { InvalidCredential } from "../../../kernel/contract/Problem.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import type { CredentialKind, StoredCredential } from "../Model.ts"
import { AccessRepo } from "../Repo.ts"
import { truncate, isLive, isOfKind } from "../Rules.ts"
import { TokenHasher } from "./TokenHasher.ts"

// The id of no row: a look-up without an id runs the same query.
const NO_ROW = "00000000-0000-0000-0000-000000000000"

/** Authenticates tokens. There is no cache, so that a revocation applies to the next request on every node. */
export class Credentials extends Context.Service<
  Credentials,
  {
    /**
     * Returns the live credential of a token. Unknown, altered, expired and revoked tokens and those of another kind
     * take the same path and fail with the same error.
     */
    readonly authenticate: (
      kind: CredentialKind,
      credential: Redacted.Redacted,
    ) => Effect.Effect<StoredCredential, InvalidCredential>
    /**
     * Returns the live credential with this row id, for credentials that name a row instead of holding its secret.
     * Without an id it fails after the same work.
     */
    readonly findLive: (
      kind: CredentialKind,
      id: Option.Option<string>,
    ) => Effect.Effect<StoredCredential, InvalidCredential>
  }
>()("keyshelf/access/Credentials") {
  static readonly layer = Layer.effect(
    Credentials,
    Effect.gen(function* () {
      const repo = yield* AccessRepo
      const hasher = yield* TokenHasher

      const byHash = lookUp(repo.findByLookupHashes, (row) => Buffer.from(row.lookupHash).toString("hex"))
      const byId = lookUp(repo.findByIds, (row) => row.id)

      const lastUse = yield* makeLastUse(repo)

      return Credentials.of({
        authenticate: Effect.fnUntraced(function* (kind, credential) {
          const sent = Redacted.value(credential)
          const text = truncate(sent)
          const token = text === sent ? credential : Redacted.make(text)
          const row = Option.getOrUndefined(yield* byHash(hasher.lookupHash(token)))
          const genuine = hasher.verify(token, row)
          const at = yield* now
          if (row === undefined || !genuine || !isOfKind(text, kind) || !isLive(row, kind, at))
            return yield* invalidCredential()
          lastUse.set(row.id, at)
          return row
        }),

        findLive: Effect.fnUntraced(function* (kind, id) {
          const row = Option.getOrUndefined(yield* byId(Option.getOrElse(id, () => NO_ROW)))
          const at = yield* now
          if (row === undefined || !isLive(row, kind, at)) return yield* invalidCredential()
          lastUse.set(row.id, at)
          return row
        }),
      })
    }),
  )
}

// Batches waiting look-ups into one query. Under load this makes a look-up per request nearly free.
const lookUp = (
  find: (keys: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<StoredCredential>>,
  keyOf: (row: StoredCredential) => string,
) =>
  makeRequestBatcher<string, Option.Option<StoredCredential>>(
    Effect.fnUntraced(function* (waiting) {
      const rows = new Map((yield* find(waiting.map(({ question }) => question))).map((row) => [keyOf(row), row]))
      for (const { answer, question } of waiting) answer(Exit.succeed(Option.fromNullishOr(rows.get(question))))
    }),
  )

const MINUTE_MS = 60_000

const wholeMinute = (at: Date): Date => new Date(Math.floor(at.getTime() / MINUTE_MS) * MINUTE_MS)

/** Collects last uses in memory and stores them once a minute, so that no request waits for the write. */
const makeLastUse = Effect.fnUntraced(function* (repo: AccessRepo["Service"]) {
  const used = new Map<string, Date>()
  const flush = Effect.suspend(() => {
    if (used.size === 0) return Effect.void
    const uses = [...used].map(([id, at]) => [id, wholeMinute(at)] as const)
    used.clear()
    return repo.storeLastUse(uses)
  }).pipe(Effect.catchCause((cause) => Effect.logWarning("Storing the time of last use of tokens failed", cause)))
  yield* flush.pipe(Effect.repeat(Schedule.spaced("1 minute")), Effect.forkScoped)
  yield* Effect.addFinalizer(() => flush)
  return used
})
