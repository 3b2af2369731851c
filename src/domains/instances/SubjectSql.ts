/** SQL of instances with what they belong to. */
import type { SqlClient } from "effect/sql/SqlClient"
import type { Fragment } from "effect/sql/Statement"
import { customersSql } from "../customers/CustomersSql.ts"
import { licenseFamiliesSql, licensesSql } from "../licenses/LicensesSql.ts"
import { releasesSql } from "../releases/ReleasesSql.ts"
import { zonesSql } from "../zones/ZonesSql.ts"

/**
 * Selects the columns of `InstanceSubject`, of the instances `i` that a condition after it chooses. `more` are columns of the instance
 * and its license `l`.
 */
export const subjects = (sql: SqlClient, more: Fragment = sql.literal("")): Fragment =>
  sql`SELECT i.id, i.slug, i.name,
          json_build_object('slug', c.slug, 'name', c.name) AS customer,
          json_build_object('slug', l.slug, 'family', f.slug, 'version', l.version::text, 'name', l.name, 'type', l.type)
            AS license,
          CASE WHEN z.id IS NULL THEN NULL ELSE json_build_object('slug', z.slug, 'type', z.type) END AS zone,
          CASE WHEN r.id IS NULL THEN NULL ELSE json_build_object('slug', r.slug, 'version', r.version) END AS release${more}
        FROM instances i
        JOIN ${customersSql.on("c", "i.customer_id")}
        JOIN ${licensesSql.on("l", "i.license_id")}
        JOIN ${licenseFamiliesSql.on("f", "l.family_id")}
        LEFT JOIN ${zonesSql.on("z", "i.deployment_zone_id")}
        LEFT JOIN ${releasesSql.on("r", "z.release_id")}`
