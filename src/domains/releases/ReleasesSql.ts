/** SQL by which later domains read releases and what they require. */
import type { SqlClient } from "effect/sql/SqlClient"
import type { Fragment } from "effect/sql/Statement"
import { readableRows } from "../../kernel/database/ReadableRows.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"
import { componentsSql } from "../components/ComponentsSql.ts"
import { entitlementsSql } from "../entitlements/EntitlementsSql.ts"

/** The releases. */
export const releasesSql = readableRows("releases")

/** When a release was released: nodes of earlier versions store no time of its own. The index of offered releases has this expression. */
export const releasedAt = (release: string): string => `coalesce(${release}.released_at, ${release}.created_at)`

/** What releases require: the rows `required`, each with its entitlement `e`. */
export const requiredJoin = (sql: SqlClient): Fragment =>
  sql`release_requirements required JOIN ${entitlementsSql.on("e", "required.entitlement_id")}`

/** What releases contain: the rows `link`, each with its row of `components`. */
export const linkedComponents = (sql: SqlClient): Fragment =>
  sql`release_components link JOIN ${componentsSql.on("components", "link.component_id")}`

/** The condition that a row of releases contains a version of the component of a name. */
export const hasComponentNamed = (sql: SqlClient, organizationId: OrganizationId, name: string): Fragment => sql`id IN (
    SELECT link.release_id FROM ${componentsSql.as("named")}
    JOIN release_components link ON link.organization_id = named.organization_id AND link.component_id = named.id
    WHERE named.organization_id = ${organizationId} AND named.name = ${name})`
