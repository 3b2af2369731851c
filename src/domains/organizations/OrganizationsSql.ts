/** SQL by which later domains read organizations. */
import { Schema } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { Fragment } from "effect/sql/Statement"
import { Uuid } from "../../kernel/values/Identifiers.ts"

const isUuid = Schema.is(Uuid)

/** Selects the organizations that are not removed. A further condition may follow. */
export const presentOrganizations = (sql: SqlClient): Fragment =>
  sql.literal("SELECT id, slug FROM organizations WHERE removed_at IS NULL")

/** Selects which of these values an organization has, one that is removed too: the id, the slug or the external id. */
export const takenOf = (sql: SqlClient, id: string, slug: string, externalId: string | null): Fragment => sql`
        SELECT CASE WHEN id = ${id} THEN 'id' WHEN slug = ${slug} THEN 'slug' ELSE 'external id' END AS what
        FROM organizations WHERE id = ${id} OR slug = ${slug} OR external_id = ${externalId} LIMIT 1`

/** Selects the organizations with this id, slug or external id. */
export const organizationsNamed = (sql: SqlClient, name: string): Fragment => sql`${presentOrganizations(sql)} AND (
      id = ${isUuid(name) ? name : null}::uuid OR slug = ${name} OR external_id = ${name})`
