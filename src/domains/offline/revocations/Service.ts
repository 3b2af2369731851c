/** Voids bundles, and signs the list of void bundles that verifiers read. */
import { Context, Effect, Layer, Option } from "effect"
import { makeLruCache } from "../../../kernel/concurrency/LruCache.ts"
import { Transaction } from "../../../kernel/database/Transactions.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { issuerOf } from "../../signing/Issuer.ts"
import { Signer } from "../../signing/Signer.ts"
import { LIST_TYPE } from "./Model.ts"
import type { Revocation } from "./Model.ts"
import { RevocationsRepo } from "./Repo.ts"
import { fullHour, hourAfter, listText } from "./Rules.ts"

// Anyone may read lists, so each is signed once an hour. The unit is characters.
const MAX_CACHED_CHARACTERS = 32_000_000

/** Voids bundles and signs the lists of void ones. */
export class RevocationLists extends Context.Service<
  RevocationLists,
  {
    /** Begins the list of an organization that issues a bundle. */
    readonly begin: (organizationId: OrganizationId) => Effect.Effect<void, never, Transaction>
    /** Voids the bundles of an instance up to a sequence. `until` is when the last of them expires. */
    readonly add: (
      organizationId: OrganizationId,
      revocation: Revocation & { readonly until: Date },
    ) => Effect.Effect<void, never, Transaction>
    /** The signed list of this hour; none if the organization has issued no bundle, or does not exist. */
    readonly current: (organizationId: OrganizationId) => Effect.Effect<Option.Option<string>>
  }
>()("keyshelf/offline/revocations/RevocationLists") {
  static readonly layer = Layer.effect(
    RevocationLists,
    Effect.gen(function* () {
      const repo = yield* RevocationsRepo
      const signer = yield* Signer
      const cache = makeLruCache<{ readonly version: string; readonly text: string }>(
        MAX_CACHED_CHARACTERS,
        ({ text }) => text.length,
      )

      return RevocationLists.of({
        begin: Effect.fnUntraced(function* (organizationId) {
          yield* Transaction
          yield* repo.begin(organizationId)
        }),

        add: Effect.fnUntraced(function* (organizationId, revocation) {
          yield* Transaction
          // Bundles that have expired need no revocation.
          if (revocation.until <= revocation.revokedAt) return
          yield* repo.raiseNumber(organizationId)
          yield* repo.add(organizationId, { ...revocation, until: hourAfter(revocation.until) })
        }),

        current: Effect.fn("RevocationLists.current")(function* (organizationId) {
          const found = yield* repo.findNumber(organizationId)
          const key = Option.isNone(found) ? Option.none() : yield* signer.find(organizationId, "offline")
          if (Option.isNone(found) || Option.isNone(key)) return Option.none()
          const { number } = found.value
          const hour = fullHour(yield* now)
          const version = `${number} ${hour.getTime()} ${key.value.kid}`
          const cached = cache.get(organizationId)
          if (cached?.version === version) return Option.some(cached.text)
          const revoked = yield* repo.findAfter(organizationId, hour)
          const text = yield* signer.signToken(
            key.value,
            LIST_TYPE,
            listText(issuerOf(organizationId), number, hour, revoked),
          )
          cache.set(organizationId, { version, text })
          return Option.some(text)
        }),
      })
    }),
  )
}
