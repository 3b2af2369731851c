/** SQL by which later domains read components and their images. */
import type { SqlClient } from "effect/sql/SqlClient"
import type { Fragment } from "effect/sql/Statement"
import { readableRows } from "../../kernel/database/ReadableRows.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"

/** The components. */
export const componentsSql = readableRows("components")

/** The images of a row of `components`, as JSON, in their order. */
export const imagesOfRow = (sql: SqlClient, organizationId: OrganizationId): Fragment => sql`coalesce((
      SELECT json_agg(json_build_object('repository', image.repository, 'reference', image.reference) ORDER BY image.ordinal)
      FROM component_images image
      WHERE image.organization_id = ${organizationId} AND image.component_id = components.id
    ), '[]')`

/** The columns of a component's record, of a row of `components`. */
export const componentColumns = (sql: SqlClient, organizationId: OrganizationId): Fragment =>
  sql`components.id, components.name, components.version, components.slug, components.description,
    components.previous_component_id AS "previousComponentId", ${imagesOfRow(sql, organizationId)} AS images,
    components.created_at AS "createdAt", components.created_by AS "createdBy"`
