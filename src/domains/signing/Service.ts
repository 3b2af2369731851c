/** Use cases of signing keys. */
import { Context, Effect, Layer, Option } from "effect"
import { Caller } from "../../kernel/contract/Caller.ts"
import { byId, Cursors } from "../../kernel/contract/Page.ts"
import type { Page, PageRequest } from "../../kernel/contract/Page.ts"
import type { InvalidCursor } from "../../kernel/contract/Problem.ts"
import { noSuch } from "../../kernel/contract/Problem.ts"
import { Transactions } from "../../kernel/database/Transactions.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"
import { Events } from "../events/Service.ts"
import {
  ActivateSigningKeyNotNext,
  CreateSigningKeyNextExists,
  RevokeSigningKeyCurrent,
  SigningKeyNotFound,
} from "./Errors.ts"
import type { CreateSigningKey, SigningKey, StoredKey } from "./Model.ts"
import { SigningKeysRepo } from "./Repo.ts"
import { recordOf } from "./Rules.ts"
import { Signer } from "./Signer.ts"

const notFound = (kid: string) => new SigningKeyNotFound({ detail: noSuch("signing key", kid) })

/** Manages the signing keys of the caller's organization. */
export class SigningKeys extends Context.Service<
  SigningKeys,
  {
    /** A page of the keys of all purposes and states, newest first. */
    readonly list: (request: PageRequest) => Effect.Effect<Page<SigningKey>, InvalidCursor, Caller>
    /** Creates the next key of a purpose, or the current one where there is none yet. */
    readonly create: (input: CreateSigningKey) => Effect.Effect<SigningKey, CreateSigningKeyNextExists, Caller>
    /** Makes the next key the one that signs. The key before it retires. */
    readonly activate: (
      kid: string,
    ) => Effect.Effect<SigningKey, SigningKeyNotFound | ActivateSigningKeyNotNext, Caller>
    /** Ends the trust in a key that does not sign. Revoking a revoked one has no effect. */
    readonly revoke: (kid: string) => Effect.Effect<void, SigningKeyNotFound | RevokeSigningKeyCurrent, Caller>
  }
>()("keyshelf/signing/SigningKeys") {
  static readonly layer = Layer.suspend(() => Layer.effect(SigningKeys, make))
}

/** The changes of a key that exists. */
const changes = Effect.gen(function* () {
  const repo = yield* SigningKeysRepo
  const events = yield* Events
  const transactions = yield* Transactions

  /** Locks a key and its purpose: first the purpose, as every creation does. */
  const lock = Effect.fnUntraced(function* (organizationId: OrganizationId, kid: string) {
    const found = yield* repo.find(organizationId, kid)
    if (Option.isNone(found)) return yield* notFound(kid)
    yield* repo.lockPurpose(organizationId, found.value.purpose)
    const key = yield* repo.lock(organizationId, kid)
    return Option.isSome(key) ? key.value : yield* notFound(kid)
  })

  return {
    activate: Effect.fn("SigningKeys.activate")(function* (kid: string) {
      const caller = yield* Caller
      return yield* transactions.run(
        Effect.gen(function* () {
          const key = yield* lock(caller.organizationId, kid)
          if (key.state !== "NEXT") {
            return yield* new ActivateSigningKeyNotNext({
              detail: `The key "${kid}" is ${key.state}. Only the key that is NEXT can be activated.`,
            })
          }
          const activatedAt = yield* now
          yield* repo.retireCurrent(caller.organizationId, key.purpose)
          yield* repo.activate(caller.organizationId, kid, activatedAt)
          const record = recordOf({ ...key, state: "CURRENT", activatedAt })
          yield* events.emit(caller, "SIGNING_KEY_ACTIVATED", record)
          return record
        }),
      )
    }),

    revoke: Effect.fn("SigningKeys.revoke")(function* (kid: string) {
      const caller = yield* Caller
      yield* transactions.run(
        Effect.gen(function* () {
          const key: StoredKey = yield* lock(caller.organizationId, kid)
          if (key.state === "REVOKED") return
          if (key.state === "CURRENT") {
            return yield* new RevokeSigningKeyCurrent({
              detail: `The key "${kid}" signs. Create a new one for "${key.purpose}" and activate it first.`,
            })
          }
          const revokedAt = yield* now
          yield* repo.revoke(caller.organizationId, kid, revokedAt)
          yield* events.emit(caller, "SIGNING_KEY_REVOKED", recordOf({ ...key, state: "REVOKED", revokedAt }))
        }),
      )
    }),
  }
})

const make = Effect.gen(function* () {
  const repo = yield* SigningKeysRepo
  const signer = yield* Signer
  const events = yield* Events
  const cursors = yield* Cursors
  const transactions = yield* Transactions

  return SigningKeys.of({
    ...(yield* changes),

    list: Effect.fn("SigningKeys.list")(function* (request) {
      const { organizationId } = yield* Caller
      const page = yield* cursors.page(
        { name: "signing-keys", organizationId },
        request,
        (after, count) => repo.list(organizationId, after, count),
        byId,
      )
      return { ...page, items: page.items.map(recordOf) }
    }),

    create: Effect.fn("SigningKeys.create")(function* ({ purpose }) {
      const caller = yield* Caller
      return yield* transactions.run(
        Effect.gen(function* () {
          yield* repo.lockPurpose(caller.organizationId, purpose)
          const next = yield* repo.findNext(caller.organizationId, purpose)
          if (Option.isSome(next)) {
            return yield* new CreateSigningKeyNextExists({
              detail: `The key "${next.value.kid}" is next for the purpose "${purpose}". Activate or revoke it first.`,
            })
          }
          const current = yield* repo.findCurrent(caller.organizationId, purpose)
          const record = recordOf(yield* signer.create(caller, purpose, Option.isSome(current) ? "NEXT" : "CURRENT"))
          yield* events.emit(caller, "SIGNING_KEY_CREATED", record)
          return record
        }),
      )
    }),
  })
})
