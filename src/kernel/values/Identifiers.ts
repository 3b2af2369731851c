/** Ids: UUIDv7 with the time of the service's Clock. */
import { Effect, Schema } from "effect"
import type { Clock } from "effect"
import { SecureRandom } from "effect/crypto"

/** A UUID in lower or upper case, as clients send it. */
export const Uuid = Schema.String.check(
  Schema.isPattern(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i, { expected: "a UUID" }),
).annotate({ format: "uuid" })

/**
 * The id of an organization: a type of its own, so that no slug or other id takes its place. It comes from a credential, a row or a new
 * organization. The rest of the code passes it on.
 */
export const OrganizationId = Uuid.pipe(Schema.brand("OrganizationId"))
export type OrganizationId = typeof OrganizationId.Type

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

const randomBytes = blockwise()

// Otherwise a clock that tests set would move all later ids under another clock.
const generators = new WeakMap<Clock.Clock, SecureRandom.SecureRandom["Service"]>()

const generatorOf = (clock: Clock.Clock): SecureRandom.SecureRandom["Service"] => {
  const existing = generators.get(clock)
  if (existing !== undefined) return existing
  const created = SecureRandom.make(randomBytes)
  generators.set(clock, created)
  return created
}

/** Creates a UUIDv7 that is greater than all earlier ones under the same Clock. Ids therefore sort by creation. */
export const newId: Effect.Effect<string> = Effect.clockWith((clock) => generatorOf(clock).uuidV7())
