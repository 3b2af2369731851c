/** Ids: UUIDv7 with the time of the service's Clock (contract, section 2). */
import type { Effect } from "effect"
import { Schema } from "effect"
import { SecureRandom } from "effect/crypto"

/** A UUID in lower or upper case, as clients send it. */
export const Uuid = Schema.String.check(
  Schema.isPattern(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i, { expected: "a UUID" }),
).annotate({ format: "uuid" })

// Random bytes are read from the system in blocks: a read costs more than the rest of creating an id.
const BLOCK_BYTES = 8192

const blockwise = () => {
  let block: Uint8Array = new Uint8Array()
  return (size: number): Uint8Array => {
    if (block.length < size) block = SecureRandom.randomBytesUnsafe(BLOCK_BYTES)
    const bytes = block.slice(0, size)
    block = block.subarray(size)
    return bytes
  }
}

const random = SecureRandom.make(blockwise())

/** Creates a UUIDv7 that is greater than all earlier ones of this process. Ids therefore sort by creation. */
export const newId: Effect.Effect<string> = random.uuidV7()
