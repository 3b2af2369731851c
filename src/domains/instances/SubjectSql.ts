/** SQL of instances with what they belong to. */
import type { SqlClient } from "effect/sql/SqlClient"
import type { Fragment } from "effect/sql/Statement"

/** Selects the columns of `InstanceSubject`, of the instances `i` that a condition after it chooses. */
export const subjects = (sql: SqlClient): Fragment =>
  sql.literal(`SELECT i.id, i.slug, i.name,
          json_build_object('slug', c.slug, 'name', c.name) AS customer,
          json_build_object('slug', l.slug, 'family', f.slug, 'version', l.version::text, 'name', l.name, 'type', l.type)
            AS license,
          CASE WHEN z.id IS NULL THEN NULL ELSE json_build_object('slug', z.slug, 'type', z.type) END AS zone,
          CASE WHEN r.id IS NULL THEN NULL ELSE json_build_object('slug', r.slug, 'version', r.version) END AS release
        FROM instances i
        JOIN customers c ON c.organization_id = i.organization_id AND c.id = i.customer_id
        JOIN licenses l ON l.organization_id = i.organization_id AND l.id = i.license_id
        JOIN license_families f ON f.organization_id = l.organization_id AND f.id = l.family_id
        LEFT JOIN deployment_zones z ON z.organization_id = i.organization_id AND z.id = i.deployment_zone_id
        LEFT JOIN releases r ON r.organization_id = z.organization_id AND r.id = z.release_id`)
