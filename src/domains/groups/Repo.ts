/** SQL of entitlement groups. */
import type { Fragment } from "effect/sql/Statement"
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer } from "effect"
import type { Option } from "effect"
import { idBefore } from "../../kernel/contract/Page.ts"
import type { Position } from "../../kernel/contract/Page.ts"
import { decodedOne, executed, record, records, returnedRow } from "../../kernel/database/Statements.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"
import { entitlementsSql } from "../entitlements/EntitlementsSql.ts"
import { EntitlementGroup } from "./Model.ts"

/** Stores and reads entitlement groups. */
export class EntitlementGroupsRepo extends Context.Service<
  EntitlementGroupsRepo,
  {
    /** The statement that stores the row if its slug is free. */
    readonly insertStatement: (organizationId: OrganizationId, row: EntitlementGroup) => Fragment
    /** The group with a slug, with the slugs of its entitlements. */
    readonly findBySlug: (
      organizationId: OrganizationId,
      slug: string,
    ) => Effect.Effect<Option.Option<EntitlementGroup>>
    /** Groups after a position, newest first. */
    readonly list: (
      organizationId: OrganizationId,
      after: Position | null,
      count: number,
    ) => Effect.Effect<ReadonlyArray<EntitlementGroup>>
    /** Locks the group until the transaction ends: its entitlements cannot change. */
    readonly lockBySlug: (
      organizationId: OrganizationId,
      slug: string,
    ) => Effect.Effect<Option.Option<EntitlementGroup>>
    /** Updates a locked row, but not its entitlements. */
    readonly update: (organizationId: OrganizationId, row: EntitlementGroup) => Effect.Effect<void>
    /** Deletes a group. Its entitlements remain. */
    readonly delete: (organizationId: OrganizationId, id: string) => Effect.Effect<void>
    /** Adds the entitlement and returns whether it was not in the group. */
    readonly attach: (organizationId: OrganizationId, id: string, entitlementId: string) => Effect.Effect<boolean>
    /** Removes the entitlement and returns whether it was in the group. */
    readonly detach: (organizationId: OrganizationId, id: string, entitlementId: string) => Effect.Effect<boolean>
  }
>()("keyshelf/groups/Repo") {
  static readonly layer = Layer.suspend(() => Layer.effect(EntitlementGroupsRepo, make))
}

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const columns = (organizationId: OrganizationId) => sql`id, slug, name, description, ARRAY(
      SELECT e.slug FROM entitlement_group_members m
      JOIN ${entitlementsSql.on("e", "m.entitlement_id")}
      WHERE m.organization_id = ${organizationId} AND m.group_id = entitlement_groups.id
      ORDER BY e.display_order, e.id
    ) AS "entitlementSlugs", created_at AS "createdAt", updated_at AS "updatedAt", created_by AS "createdBy",
    updated_by AS "updatedBy"`

  return EntitlementGroupsRepo.of({
    insertStatement: (organizationId, row) => sql`
      INSERT INTO entitlement_groups (organization_id, id, slug, name, description, created_at, created_by, updated_at,
        updated_by)
      VALUES (${organizationId}, ${row.id}, ${row.slug}, ${row.name}, ${row.description}, ${row.createdAt},
        ${sql.json(row.createdBy)}, ${row.updatedAt}, ${sql.json(row.updatedBy)})
      ON CONFLICT ON CONSTRAINT entitlement_groups_slug DO NOTHING
      RETURNING id`,

    findBySlug: (organizationId, slug) =>
      record<EntitlementGroup>()(
        sql`SELECT ${columns(organizationId)} FROM entitlement_groups WHERE organization_id = ${organizationId} AND slug = ${slug}`,
      ),

    list: (organizationId, after, count) =>
      records<EntitlementGroup>()(sql`
        SELECT ${columns(organizationId)} FROM entitlement_groups
        WHERE organization_id = ${organizationId} AND id < ${idBefore(after)}
        ORDER BY id DESC LIMIT ${count}`),

    lockBySlug: (organizationId, slug) =>
      decodedOne(EntitlementGroup)(sql`
        SELECT ${columns(organizationId)} FROM entitlement_groups WHERE organization_id = ${organizationId} AND slug = ${slug}
        FOR UPDATE`),

    update: (organizationId, row) =>
      executed(sql`
        UPDATE entitlement_groups SET name = ${row.name}, description = ${row.description},
          updated_at = ${row.updatedAt}, updated_by = ${sql.json(row.updatedBy)}
        WHERE organization_id = ${organizationId} AND id = ${row.id}`),

    delete: (organizationId, id) =>
      executed(sql`DELETE FROM entitlement_groups WHERE organization_id = ${organizationId} AND id = ${id}`),

    attach: (organizationId, id, entitlementId) =>
      returnedRow(sql`
        INSERT INTO entitlement_group_members (organization_id, entitlement_id, group_id)
        VALUES (${organizationId}, ${entitlementId}, ${id})
        ON CONFLICT DO NOTHING
        RETURNING group_id`),

    detach: (organizationId, id, entitlementId) =>
      returnedRow(sql`
        DELETE FROM entitlement_group_members
        WHERE organization_id = ${organizationId} AND group_id = ${id} AND entitlement_id = ${entitlementId}
        RETURNING group_id`),
  })
})
