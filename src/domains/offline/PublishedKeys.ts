/** The keys that verifiers of offline bundles trust. */
import { Context, Effect, Layer } from "effect"
import { now } from "../../kernel/values/Timestamp.ts"
import type { PublicKey } from "../signing/Model.ts"
import { Signer } from "../signing/Signer.ts"
import { RevocationsRepo } from "./revocations/Repo.ts"

/** Publishes keys. */
export class PublishedKeys extends Context.Service<
  PublishedKeys,
  {
    /**
     * The current and the next key, and retired ones until their last bundle has expired; newest first. None for an organization that
     * does not exist.
     */
    readonly of: (organizationId: string) => Effect.Effect<ReadonlyArray<PublicKey>>
  }
>()("keyshelf/offline/PublishedKeys") {
  static readonly layer = Layer.effect(
    PublishedKeys,
    Effect.gen(function* () {
      const signer = yield* Signer
      const repo = yield* RevocationsRepo
      return PublishedKeys.of({
        of: Effect.fn("PublishedKeys.of")(function* (organizationId) {
          const keys = yield* signer.trusted(organizationId, "offline")
          const retired = keys.filter(({ state }) => state === "RETIRED").map(({ kid }) => kid)
          const used = retired.length === 0 ? [] : yield* repo.findKeysInUse(organizationId, retired, yield* now)
          const inUse = new Set(used.map(({ kid }) => kid))
          return keys.filter(({ kid, state }) => state !== "RETIRED" || inUse.has(kid))
        }),
      })
    }),
  )
}
