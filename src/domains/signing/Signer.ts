/** Signs with the keys of organizations (Ed25519). Private keys never leave this file. */
import { Context, Effect, Layer, Option, Redacted } from "effect"
import { calculateJwkThumbprint } from "jose"
import { createPrivateKey, generateKeyPair, sign } from "node:crypto"
import type { KeyObject } from "node:crypto"
import { promisify } from "node:util"
import { makeLruCache } from "../../kernel/concurrency/LruCache.ts"
import { Transaction } from "../../kernel/database/Transactions.ts"
import { SecretBox } from "../../kernel/ports/SecretBox.ts"
import type { SealContext } from "../../kernel/ports/SecretBox.ts"
import { newId } from "../../kernel/values/Identifiers.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import { Events } from "../events/Service.ts"
import type { EventSource } from "../events/Service.ts"
import type { KeyPurpose, PublicKey, StoredKey } from "./Model.ts"
import { SigningKeysRepo } from "./Repo.ts"
import { recordOf } from "./Rules.ts"

const ALGORITHM = "EdDSA"

// Opening a key takes longer than signing with it, so opened keys are cached.
const MAX_CACHED_KEYS = 1_000

const encoded = (text: string): string => Buffer.from(text).toString("base64url")

const generate = promisify(generateKeyPair)

/** The context that the private half of a key is sealed for. */
export const signingKeyPlace = (organizationId: OrganizationId, kid: string): SealContext => ({
  purpose: "signing-key",
  boundTo: [organizationId, kid],
})

/** The key that signs now, and the public half of its announced successor. */
interface CurrentKey extends StoredKey {
  readonly next: PublicKey | null
}

/** Creates signing keys and signs with them. */
export class Signer extends Context.Service<
  Signer,
  {
    /**
     * The key of a purpose that signs. It stays the current one until the transaction ends. The first use creates it, with
     * its event.
     */
    readonly current: (source: EventSource, purpose: KeyPurpose) => Effect.Effect<CurrentKey, never, Transaction>
    /**
     * Creates the key of a purpose that signs, if there is none, without an event: for work in the background. Processes of the
     * previous release, which may still run, cannot list the event.
     */
    readonly ensure: (source: EventSource, purpose: KeyPurpose) => Effect.Effect<void, never, Transaction>
    /** Creates and stores a key, without its event. `CURRENT` keys are active at once. */
    readonly create: (
      source: EventSource,
      purpose: KeyPurpose,
      state: "CURRENT" | "NEXT",
    ) => Effect.Effect<StoredKey, never, Transaction>
    /** The keys of a purpose that are not revoked, newest first. */
    readonly trusted: (organizationId: OrganizationId, purpose: KeyPurpose) => Effect.Effect<ReadonlyArray<StoredKey>>
    /** The key of a purpose that signs, or none. It may be retired at any time. */
    readonly find: (organizationId: OrganizationId, purpose: KeyPurpose) => Effect.Effect<Option.Option<StoredKey>>
    /**
     * All keys of a purpose, newest first. Revoked keys are included, because they still verify what they signed
     * before.
     */
    readonly known: (organizationId: OrganizationId, purpose: KeyPurpose) => Effect.Effect<ReadonlyArray<StoredKey>>
    /** The Ed25519 signature of these bytes. A key that no longer signs is a defect. */
    readonly sign: (key: StoredKey, bytes: Uint8Array) => Effect.Effect<Uint8Array>
    /** A compact JWS of a payload, of this type: its header is `{"typ", "alg": "EdDSA", "kid"}`. */
    readonly signToken: (key: StoredKey, type: string, payload: string) => Effect.Effect<string>
  }
>()("keyshelf/signing/Signer") {
  static readonly layer = Layer.suspend(() => Layer.effect(Signer, make))
}

/** Opens the private halves of keys. */
const keyOpening = Effect.map(SecretBox, (box) => {
  const cache = makeLruCache<Redacted.Redacted<KeyObject>>(MAX_CACHED_KEYS, () => 1)

  return Effect.fnUntraced(function* ({ kid, organizationId, sealed, x }: StoredKey) {
    if (sealed === null) return yield* Effect.die(new Error(`The signing key ${kid} no longer signs`))
    const place = `${organizationId} ${kid} ${sealed}`
    const cached = cache.get(place)
    if (cached !== undefined) return Redacted.value(cached)
    const d = yield* box.open(signingKeyPlace(organizationId, kid), sealed)
    const key = createPrivateKey({ key: { kty: "OKP", crv: "Ed25519", x, d }, format: "jwk" })
    cache.set(place, Redacted.make(key))
    return key
  })
})

const make = Effect.gen(function* () {
  const repo = yield* SigningKeysRepo
  const box = yield* SecretBox
  const events = yield* Events
  const open = yield* keyOpening

  const create = Effect.fnUntraced(function* (source: EventSource, purpose: KeyPurpose, state: "CURRENT" | "NEXT") {
    yield* Transaction
    const createdAt = yield* now
    const { privateKey } = yield* Effect.promise(() => generate("ed25519"))
    const { d = "", x = "" } = privateKey.export({ format: "jwk" })
    const kid = yield* Effect.promise(() => calculateJwkThumbprint({ kty: "OKP", crv: "Ed25519", x }))
    const key: StoredKey = {
      organizationId: source.organizationId,
      kid,
      id: yield* newId,
      purpose,
      state,
      x,
      sealed: yield* box.seal(signingKeyPlace(source.organizationId, kid), d),
      createdAt,
      createdBy: source.actor,
      activatedAt: state === "CURRENT" ? createdAt : null,
      revokedAt: null,
    }
    yield* repo.insert(key)
    return key
  })

  const findOrCreate = Effect.fnUntraced(function* (
    source: EventSource,
    purpose: KeyPurpose,
    event: "emitted" | "omitted",
  ) {
    const found = yield* repo.lockCurrentShared(source.organizationId, purpose)
    if (Option.isSome(found)) return found.value
    yield* repo.lockPurpose(source.organizationId, purpose)
    const since = yield* repo.lockCurrentShared(source.organizationId, purpose)
    if (Option.isSome(since)) return since.value
    const key = yield* create(source, purpose, "CURRENT")
    if (event === "emitted") yield* events.emit(source, "SIGNING_KEY_CREATED", recordOf(key))
    return key
  })

  return Signer.of({
    current: Effect.fn("Signer.current")(function* (source, purpose) {
      yield* Transaction
      const key = yield* findOrCreate(source, purpose, "emitted")
      const next = yield* repo.findNext(source.organizationId, purpose)
      return { ...key, next: Option.getOrNull(Option.map(next, ({ kid, x }) => ({ kid, x }))) }
    }),
    ensure: (source, purpose) => Effect.asVoid(findOrCreate(source, purpose, "omitted")),
    create,
    trusted: repo.findTrusted,
    find: repo.findCurrent,
    known: repo.findAll,
    sign: (key, bytes) => Effect.map(open(key), (opened) => sign(null, bytes, opened)),
    signToken: (key, typ, payload) =>
      Effect.map(open(key), (opened) => {
        const signed = `${encoded(JSON.stringify({ typ, alg: ALGORITHM, kid: key.kid }))}.${encoded(payload)}`
        // At once: Web Crypto would copy the key and the text to another thread, which takes longer than to sign.
        return `${signed}.${sign(null, Buffer.from(signed, "latin1"), opened).toString("base64url")}`
      }),
  })
})
