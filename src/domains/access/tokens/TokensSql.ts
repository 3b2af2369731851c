/** Fragments of statements on credentials. */
import type { SqlClient } from "effect/sql/SqlClient"
import type { Fragment } from "effect/sql/Statement"
import { isRemoved } from "../../../kernel/database/RemovedOrganizations.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"

/** The columns of an access token. */
export const TOKEN_COLUMNS = `id, name, slug, scopes, last_four AS "lastFour", expires_at AS "expiresAt",
  last_used_at AS "lastUsedAt", revoked_at AS "revokedAt", revoked_by AS "revokedBy",
  created_at AS "createdAt", created_by AS "createdBy"`

/** Selects the ids of the credentials of an organization. */
export const credentialIds = (sql: SqlClient, organizationId: OrganizationId): Fragment =>
  sql`SELECT id FROM credentials WHERE organization_id = ${organizationId}`

/** Whether the database has credentials; one that is not migrated yet has none. */
export const haveCredentials = "to_regclass('credentials') IS NOT NULL"

/** Selects the ids of the peppers that the credentials of an organization need. */
export const peppersOf = (sql: SqlClient, organizationId: OrganizationId): Fragment =>
  sql`SELECT DISTINCT pepper_id AS key FROM credentials WHERE organization_id = ${organizationId}`

/** Counts the tokens that work at an instant, by their pepper. */
export const tokensByPepper = (sql: SqlClient, at: Date): Fragment => sql`
        SELECT 'tokens' AS what, pepper_id AS key, count(*)::int AS count FROM credentials
        WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ${at}) GROUP BY pepper_id`

/** Selects the hashes of the token with this look-up hash. */
export const tokenHashes = (sql: SqlClient, lookupHash: Uint8Array): Fragment => sql`
        SELECT salt, verification_hash AS "verificationHash", pepper_id AS "pepperId" FROM credentials
        WHERE lookup_hash = ${lookupHash}`

/** Credentials of a removed organization do not exist, although their rows are deleted later. */
export const IS_USABLE = `NOT ${isRemoved("credentials.organization_id")}`

/** Selects the tokens with these ids that are neither revoked nor of a removed organization, with their expiry in milliseconds. */
export const liveTokens = (sql: SqlClient, ids: ReadonlyArray<string>): Fragment => sql`
  SELECT id, (extract(epoch FROM expires_at) * 1000)::float8 AS "expiresAt" FROM credentials
  WHERE id = ANY(${ids}::uuid[]) AND revoked_at IS NULL AND ${sql.literal(IS_USABLE)}`

/** Whether instances with these ids have a license key, and whether one of these keys was used. */
export const licenseKeysOf = (sql: SqlClient, instanceIds: ReadonlyArray<string>): Fragment => sql`
  SELECT count(*) > 0 AS "licenseKey", count(last_used_at) > 0 AS "licenseKeyUsed" FROM credentials
  WHERE instance_id = ANY(${instanceIds}::uuid[])`
