/** SQL by which later domains read people and memberships. */
import type { SqlClient } from "effect/sql/SqlClient"
import type { Fragment } from "effect/sql/Statement"
import { isRemoved } from "../../kernel/database/RemovedOrganizations.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"

/** Selects these columns of the members of an organization, as text without parameters. */
export const membersText = (columns: string, organizationLiteral: string): string => `
        SELECT ${columns} FROM users
        WHERE id IN (SELECT user_id FROM memberships WHERE organization_id = ${organizationLiteral}::uuid)`

/** Selects the user with this id, or else with this identity at the provider. */
export const userLike = (
  sql: SqlClient,
  { id, issuer, subject }: { readonly id: string; readonly issuer: string | null; readonly subject: string | null },
): Fragment => sql`
        SELECT id FROM users WHERE id = ${id} OR (issuer = ${issuer} AND subject = ${subject})
        ORDER BY id = ${id} DESC LIMIT 1`

/** Selects the ids of the memberships of an organization. */
export const membershipIds = (sql: SqlClient, organizationId: OrganizationId): Fragment =>
  sql`SELECT id FROM memberships WHERE organization_id = ${organizationId}`

/** Selects the current memberships with these ids. They have no expiry. */
export const liveMemberships = (
  sql: SqlClient,
  organizationId: OrganizationId,
  ids: ReadonlyArray<string>,
): Fragment => sql`
  SELECT id, NULL::float8 AS "expiresAt" FROM memberships
  WHERE organization_id = ${organizationId} AND id = ANY(${ids}::uuid[]) AND removed_at IS NULL
    AND NOT ${sql.literal(isRemoved("memberships.organization_id"))}`
