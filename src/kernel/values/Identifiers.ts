/** Ids: UUIDv7 stamped by the service's Clock (contract, section 2). */
import type { Effect } from "effect"
import { Schema } from "effect"
import { SecureRandom } from "effect/crypto"

/** A UUID in lower or upper case, as callers send it. */
export const Uuid = Schema.String.check(
  Schema.isPattern(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i, { expected: "a UUID" }),
).annotate({ format: "uuid" })

// The system is asked for randomness in large pieces: a question costs more than all the rest of an id.
const PIECE = 8192

const piecewise = () => {
  let piece: Uint8Array = new Uint8Array()
  return (size: number): Uint8Array => {
    if (piece.length < size) piece = SecureRandom.randomBytesUnsafe(PIECE)
    const taken = piece.slice(0, size)
    piece = piece.subarray(size)
    return taken
  }
}

const random = SecureRandom.make(piecewise())

/** A new UUIDv7, later than every earlier one of this process. Sorting by id is sorting by creation. */
export const newId: Effect.Effect<string> = random.uuidV7()
