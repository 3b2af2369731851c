/** Verifies credentials and keeps their last use. Issuing is in the services of its sibling files. */
import { Context, Effect, Exit, Layer, Option, Redacted, Request, RequestResolver, Schedule } from "effect"
import { InvalidCredential } from "../kernel/Problem.ts"
import { now } from "../kernel/Timestamp.ts"
import type { CredentialKind, StoredCredential } from "./Model.ts"
import { AccessRepo } from "./Repo.ts"
import { bounded, isLive } from "./Rules.ts"
import { TokenHasher } from "./TokenHasher.ts"

class FindByLookupHash extends Request.Class<{ readonly hex: string }, Option.Option<StoredCredential>> {}

const refused = () =>
  new InvalidCredential({ detail: "The credential is missing, or it did not work. Nothing more is said about why." })

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
  }
>()("keyshelf/access/Credentials") {
  static readonly layer = Layer.effect(
    Credentials,
    Effect.gen(function* () {
      const repo = yield* AccessRepo
      const hasher = yield* TokenHasher

      // All look-ups that wait at the same moment go into one query, which makes strictness nearly free under load.
      const lookup = RequestResolver.make<FindByLookupHash>(
        Effect.fnUntraced(function* (entries) {
          const rows = yield* repo.findByLookupHashes(
            entries.map((entry) => new Uint8Array(Buffer.from(entry.request.hex, "hex"))),
          )
          const byHash = new Map(rows.map((row) => [Buffer.from(row.lookupHash).toString("hex"), row]))
          for (const entry of entries) {
            entry.completeUnsafe(Exit.succeed(Option.fromNullishOr(byHash.get(entry.request.hex))))
          }
        }),
      )

      const lastUse = yield* makeLastUse(repo)

      return Credentials.of({
        authenticate: Effect.fnUntraced(function* (kind, credential) {
          const text = bounded(Redacted.value(credential))
          const token = Redacted.make(text)
          const hex = Buffer.from(hasher.lookupHash(token)).toString("hex")
          const row = Option.getOrUndefined(yield* Effect.request(new FindByLookupHash({ hex }), lookup))
          const genuine = hasher.verify(token, row)
          const at = yield* now
          if (row === undefined || !genuine || !isLive(row, kind, text, at)) return yield* refused()
          lastUse.set(row.id, at)
          return row
        }),
      })
    }),
  )
}

/** Collects uses in memory and writes them once a minute, so that no request pays for it. */
const makeLastUse = Effect.fnUntraced(function* (repo: AccessRepo["Service"]) {
  const used = new Map<string, Date>()
  const flush = Effect.gen(function* () {
    if (used.size === 0) return
    const ids = [...used.keys()]
    used.clear()
    yield* repo.touchLastUse(ids, new Date(Math.floor((yield* now).getTime() / 60_000) * 60_000))
  }).pipe(Effect.catchCause((cause) => Effect.logWarning("The last use of tokens could not be written", cause)))
  yield* flush.pipe(Effect.repeat(Schedule.spaced("1 minute")), Effect.forkScoped)
  yield* Effect.addFinalizer(() => flush)
  return used
})
