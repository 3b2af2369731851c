/** Fragments of statements on credentials. */
import { isRemoved } from "../../../kernel/database/RemovedOrganizations.ts"

/** The columns of an access token. */
export const TOKEN_COLUMNS = `id, name, slug, scopes, last_four AS "lastFour", expires_at AS "expiresAt",
  last_used_at AS "lastUsedAt", revoked_at AS "revokedAt", revoked_by AS "revokedBy",
  created_at AS "createdAt", created_by AS "createdBy"`

/** Credentials of a removed organization do not exist, although their rows are deleted later. */
export const IS_USABLE = `NOT ${isRemoved("credentials.organization_id")}`
