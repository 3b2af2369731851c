/** SQL of the groups that entitlements are in. */
import { Layer } from "effect"
import { GroupsSql } from "../entitlements/GroupsSql.ts"

const RECORDS = `jsonb_agg(jsonb_build_object('id', g.id, 'name', g.name, 'slug', g.slug) ORDER BY g.slug)`
const MEMBERSHIPS = `FROM entitlement_group_members m
            JOIN entitlement_groups g ON g.organization_id = m.organization_id AND g.id = m.group_id`

/** Provides the groups to `entitlements`. */
export const groupsSql = Layer.succeed(GroupsSql, {
  ofRow: (sql, organizationId) => sql`coalesce((
      SELECT ${sql.literal(RECORDS)} ${sql.literal(MEMBERSHIPS)}
      WHERE m.organization_id = ${organizationId} AND m.entitlement_id = entitlements.id
    ), '[]')`,

  ofEach: (sql, organizationId, ids) => sql`
            SELECT m.entitlement_id, ${sql.literal(RECORDS)} AS records ${sql.literal(MEMBERSHIPS)}
            WHERE m.organization_id = ${organizationId} AND m.entitlement_id = ANY(ARRAY(${ids}))
            GROUP BY m.entitlement_id`,

  membersOf: (
    sql,
    organizationId,
    slug,
  ) => sql`FROM entitlement_group_members m WHERE m.organization_id = ${organizationId} AND m.group_id =
      (SELECT id FROM entitlement_groups WHERE organization_id = ${organizationId} AND slug = ${slug})`,
})
