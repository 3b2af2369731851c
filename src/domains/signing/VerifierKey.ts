/** C2SP signed notes (c2sp.org/signed-note): the names and hashes of keys that sign the event log. */
import { createHash } from "node:crypto"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"

// The signature type of Ed25519 in signed notes.
const ED25519 = Buffer.of(1)
const HASH_BYTES = 4

/** The name of an organization's log, and of the key that signs it. */
export const logOrigin = (organizationId: OrganizationId): string => `keyshelf/${organizationId}`

/** The first four bytes of the hash of a key and its name. Signature lines begin with them. */
export const keyHash = (name: string, x: string): Buffer =>
  createHash("sha256")
    .update(`${name}\n`)
    .update(ED25519)
    .update(Buffer.from(x, "base64url"))
    .digest()
    .subarray(0, HASH_BYTES)

/** The verifier key of an organization's log: `keyshelf/<organization id>+<hash>+<base64 key>`. */
export const verifierKeyOf = (organizationId: OrganizationId, x: string): string => {
  const name = logOrigin(organizationId)
  const key = Buffer.concat([ED25519, Buffer.from(x, "base64url")])
  return `${name}+${keyHash(name, x).toString("hex")}+${key.toString("base64")}`
}
