/** Rules of signing keys. Pure. */
import type { SigningKey, StoredKey } from "./Model.ts"
import { verifierKeyOf } from "./VerifierKey.ts"

/** The record of a stored key: without its private half. */
export const recordOf = (key: StoredKey): SigningKey => ({
  kid: key.kid,
  purpose: key.purpose,
  state: key.state,
  createdAt: key.createdAt,
  createdBy: key.createdBy,
  activatedAt: key.activatedAt,
  revokedAt: key.revokedAt,
  verifierKey: key.purpose === "audit" ? verifierKeyOf(key.organizationId, key.x) : null,
})
