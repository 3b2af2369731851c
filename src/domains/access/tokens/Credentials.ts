/** Verifies credentials and keeps their last use. Issuing is in the services of its sibling files. */
import { Context, Effect, Exit, Layer, Option, Redacted, Schedule } from "effect"
import { makeRequestBatcher } from "../../../kernel/concurrency/RequestBatcher.ts"
import { InvalidCredential } from "../../../kernel/contract/Problem.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import type { CredentialKind, StoredCredential } from "../Model.ts"
import { AccessRepo } from "../Repo.ts"
import { bounded, isLive, isOfKind } from "../Rules.ts"
import { TokenHasher } from "./TokenHasher.ts"

/** The one answer to every credential that does not work. */
export const refused = () =>
  new InvalidCredential({ detail: "The credential is missing, or it did not work. Nothing more is said about why." })

const NOBODY = "00000000-0000-0000-0000-000000000000"

/** Authenticates tokens. There is no cache: a revocation binds the next request on every node. */
export class Credentials extends Context.Service<
  Credentials,
  {
    /**
     * The live credential that the text stands for. Unknown, altered, expired, revoked and of another kind all take
     * the same path and fail alike (interface specification, section 5.6).
     */
    readonly authenticate: (
      kind: CredentialKind,
      credential: Redacted.Redacted,
    ) => Effect.Effect<StoredCredential, InvalidCredential>
    /**
     * The live credential with this row id, for what names a row instead of holding its secret. Without an id it fails
     * after the same work.
     */
    readonly withId: (
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
          const text = bounded(Redacted.value(credential))
          const token = Redacted.make(text)
          const row = Option.getOrUndefined(yield* byHash(hasher.lookupHash(token)))
          const genuine = hasher.verify(token, row)
          const at = yield* now
          if (row === undefined || !genuine || !isOfKind(text, kind) || !isLive(row, kind, at)) return yield* refused()
          lastUse.set(row.id, at)
          return row
        }),

        withId: Effect.fnUntraced(function* (kind, id) {
          const row = Option.getOrUndefined(yield* byId(Option.getOrElse(id, () => NOBODY)))
          const at = yield* now
          if (row === undefined || !isLive(row, kind, at)) return yield* refused()
          lastUse.set(row.id, at)
          return row
        }),
      })
    }),
  )
}

// All look-ups that wait at the same moment go into one query, which makes strictness nearly free under load.
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

const MINUTE = 60_000

const wholeMinute = (at: Date): Date => new Date(Math.floor(at.getTime() / MINUTE) * MINUTE)

/** Collects uses in memory and writes them once a minute, to the minute, so that no request pays for it. */
const makeLastUse = Effect.fnUntraced(function* (repo: AccessRepo["Service"]) {
  const used = new Map<string, Date>()
  const flush = Effect.suspend(() => {
    if (used.size === 0) return Effect.void
    const uses = [...used].map(([id, at]) => [id, wholeMinute(at)] as const)
    used.clear()
    return repo.touchLastUse(uses)
  }).pipe(Effect.catchCause((cause) => Effect.logWarning("The last use of tokens could not be written", cause)))
  yield* flush.pipe(Effect.repeat(Schedule.spaced("1 minute")), Effect.forkScoped)
  yield* Effect.addFinalizer(() => flush)
  return used
})
