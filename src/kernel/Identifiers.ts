/** Ids: UUIDv7 stamped by the service's Clock (contract, section 2). */
import type { Effect } from "effect"
import { Schema } from "effect"
import { SecureRandom } from "effect/crypto"

/** A UUID in lower or upper case, as callers send it. */
export const Uuid = Schema.String.check(
  Schema.isPattern(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i, { expected: "a UUID" }),
).annotate({ format: "uuid" })

const random = SecureRandom.make(SecureRandom.randomBytesUnsafe)

/** A new UUIDv7, later than every earlier one of this process. Sorting by id is sorting by creation. */
export const newId: Effect.Effect<string> = random.uuidV7()
