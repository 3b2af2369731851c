/** SQL of components. */
import type { Fragment } from "effect/sql/Statement"
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer } from "effect"
import type { Option } from "effect"
import { idBefore } from "../../kernel/contract/Page.ts"
import type { Position } from "../../kernel/contract/Page.ts"
import { decodedOne, executed, record, records, returnedRow } from "../../kernel/database/Statements.ts"
import { Component } from "./Model.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"

/** Stores and reads components. */
export class ComponentsRepo extends Context.Service<
  ComponentsRepo,
  {
    /** The statement that stores the row if its slug is free. */
    readonly insertStatement: (organizationId: OrganizationId, row: Component) => Fragment
    /** The component with a slug. */
    readonly findBySlug: (organizationId: OrganizationId, slug: string) => Effect.Effect<Option.Option<Component>>
    /** Whether there is a component with this id. */
    readonly exists: (organizationId: OrganizationId, id: string) => Effect.Effect<boolean>
    /** Components after a position, newest first. */
    readonly list: (
      organizationId: OrganizationId,
      after: Position | null,
      count: number,
    ) => Effect.Effect<ReadonlyArray<Component>>
    /** Locks the row: no release can link the component before the transaction ends. */
    readonly lockBySlug: (organizationId: OrganizationId, slug: string) => Effect.Effect<Option.Option<Component>>
    /** Deletes a locked component. No release may contain it. */
    readonly delete: (organizationId: OrganizationId, id: string) => Effect.Effect<void>
  }
>()("keyshelf/components/Repo") {
  static readonly layer = Layer.suspend(() => Layer.effect(ComponentsRepo, make))
}

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const columns = sql.literal(`id, name, version, slug, description, previous_component_id AS "previousComponentId",
    created_at AS "createdAt", created_by AS "createdBy"`)

  return ComponentsRepo.of({
    insertStatement: (organizationId, row) => sql`
      INSERT INTO components (organization_id, id, name, version, slug, description, previous_component_id, created_at,
        created_by)
      VALUES (${organizationId}, ${row.id}, ${row.name}, ${row.version}, ${row.slug}, ${row.description},
        ${row.previousComponentId}, ${row.createdAt}, ${sql.json(row.createdBy)})
      ON CONFLICT ON CONSTRAINT components_slug DO NOTHING
      RETURNING id`,

    findBySlug: (organizationId, slug) =>
      record<Component>()(
        sql`SELECT ${columns} FROM components WHERE organization_id = ${organizationId} AND slug = ${slug}`,
      ),

    exists: (organizationId, id) =>
      returnedRow(sql`SELECT 1 FROM components WHERE organization_id = ${organizationId} AND id = ${id}`),

    list: (organizationId, after, count) =>
      records<Component>()(sql`
        SELECT ${columns} FROM components
        WHERE organization_id = ${organizationId} AND id < ${idBefore(after)}
        ORDER BY id DESC LIMIT ${count}`),

    lockBySlug: (organizationId, slug) =>
      decodedOne(Component)(sql`
        SELECT ${columns} FROM components WHERE organization_id = ${organizationId} AND slug = ${slug} FOR UPDATE`),

    delete: (organizationId, id) =>
      executed(sql`DELETE FROM components WHERE organization_id = ${organizationId} AND id = ${id}`),
  })
})
