/** The keys that verifiers of offline bundles trust. */
import { Context, Effect, Layer } from "effect"
import { now } from "../../kernel/values/Timestamp.ts"
import { MAX_STALE_SECONDS } from "../licenses/Model.ts"
import type { PublicKey, StoredKey } from "../signing/Model.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"
import { Signer } from "../signing/Signer.ts"
import { RevocationsRepo } from "./revocations/Repo.ts"

/**
 * Whether a snapshot that a retired key signed may be alive: no row says so. The key signed until the next one was activated.
 */
const mayHaveSnapshots = ({ activatedAt }: StoredKey, keys: ReadonlyArray<StoredKey>, at: Date): boolean => {
  if (activatedAt === null) return false
  const later = keys.flatMap((key) =>
    key.activatedAt !== null && key.activatedAt > activatedAt ? [key.activatedAt] : [],
  )
  return Math.min(...later.map((instant) => instant.getTime())) + MAX_STALE_SECONDS * 1000 > at.getTime()
}

/** Publishes keys. */
export class PublishedKeys extends Context.Service<
  PublishedKeys,
  {
    /**
     * The current and the next key, and retired ones until their last bundle and every snapshot has expired; newest first. None for
     * an organization that does not exist.
     */
    readonly of: (organizationId: OrganizationId) => Effect.Effect<ReadonlyArray<PublicKey>>
  }
>()("keyshelf/offline/PublishedKeys") {
  static readonly layer = Layer.effect(
    PublishedKeys,
    Effect.gen(function* () {
      const signer = yield* Signer
      const repo = yield* RevocationsRepo
      return PublishedKeys.of({
        of: Effect.fn("PublishedKeys.of")(function* (organizationId) {
          const at = yield* now
          const keys = yield* signer.trusted(organizationId, "offline")
          const old = keys.filter((key) => key.state === "RETIRED" && !mayHaveSnapshots(key, keys, at))
          const kids = old.map(({ kid }) => kid)
          const used = kids.length === 0 ? [] : yield* repo.findKeysInUse(organizationId, kids, at)
          const inUse = new Set(used.map(({ kid }) => kid))
          return keys.filter((key) => !old.includes(key) || inUse.has(key.kid))
        }),
      })
    }),
  )
}
