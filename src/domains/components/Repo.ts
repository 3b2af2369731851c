/** SQL of components. */
import type { Fragment } from "effect/sql/Statement"
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer } from "effect"
import type { Option } from "effect"
import { affectedRows } from "../../kernel/database/AffectedRows.ts"
import { idBefore } from "../../kernel/contract/Page.ts"
import type { Position } from "../../kernel/contract/Page.ts"
import { record, records, returnedRow } from "../../kernel/database/Statements.ts"
import type { Component } from "./Model.ts"
import type { Affected } from "../../kernel/contract/dryruns/Impact.ts"

/** Stores and reads components. */
export class ComponentsRepo extends Context.Service<
  ComponentsRepo,
  {
    /** The statement that stores the row if its slug is free. */
    readonly insertStatement: (organizationId: string, row: Component) => Fragment
    /** The component with a slug. */
    readonly findBySlug: (organizationId: string, slug: string) => Effect.Effect<Option.Option<Component>>
    /** Whether there is a component with this id. */
    readonly exists: (organizationId: string, id: string) => Effect.Effect<boolean>
    /** Components after a position, newest first. */
    readonly list: (
      organizationId: string,
      after: Position | null,
      count: number,
    ) => Effect.Effect<ReadonlyArray<Component>>
    /** Locks the row: no release can link the component before the transaction ends. */
    readonly lockBySlug: (organizationId: string, slug: string) => Effect.Effect<Option.Option<Component>>
    /** The releases that contain a component: their count, and the names of the first ones. */
    readonly releasesWith: (organizationId: string, id: string) => Effect.Effect<Affected<{ readonly slug: string }>>
    /** Deletes a locked component. No release may contain it. */
    readonly delete: (organizationId: string, id: string) => Effect.Effect<void>
  }
>()("keyshelf/components/Repo") {
  static readonly layer = Layer.effect(
    ComponentsRepo,
    Effect.suspend(() => make),
  )
}

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const columns = sql.literal(`id, name, version, slug, description, previous_component_id AS "previousComponentId",
    created_at AS "createdAt", created_by AS "createdBy"`)

  return {
    insertStatement: (organizationId: string, row: Component) => sql`
      INSERT INTO components (organization_id, id, name, version, slug, description, previous_component_id, created_at,
        created_by)
      VALUES (${organizationId}, ${row.id}, ${row.name}, ${row.version}, ${row.slug}, ${row.description},
        ${row.previousComponentId}, ${row.createdAt}, ${sql.json(row.createdBy)})
      ON CONFLICT ON CONSTRAINT components_slug DO NOTHING
      RETURNING id`,

    findBySlug: (organizationId: string, slug: string) =>
      record<Component>()(
        sql`SELECT ${columns} FROM components WHERE organization_id = ${organizationId} AND slug = ${slug}`,
      ),

    exists: (organizationId: string, id: string) =>
      returnedRow(sql`SELECT 1 FROM components WHERE organization_id = ${organizationId} AND id = ${id}`),

    list: (organizationId: string, after: Position | null, count: number) =>
      records<Component>()(sql`
        SELECT ${columns} FROM components
        WHERE organization_id = ${organizationId} AND id < ${idBefore(after)}
        ORDER BY id DESC LIMIT ${count}`),

    lockBySlug: (organizationId: string, slug: string) =>
      record<Component>()(sql`
        SELECT ${columns} FROM components WHERE organization_id = ${organizationId} AND slug = ${slug} FOR UPDATE`),

    releasesWith: (organizationId: string, id: string) =>
      affectedRows<{ readonly slug: string }>()(
        sql,
        sql`
          SELECT r.slug FROM release_components l
          JOIN releases r ON r.organization_id = l.organization_id AND r.id = l.release_id
          WHERE l.organization_id = ${organizationId} AND l.component_id = ${id} ORDER BY r.id`,
      ),

    delete: (organizationId: string, id: string) =>
      Effect.asVoid(Effect.orDie(sql`DELETE FROM components WHERE organization_id = ${organizationId} AND id = ${id}`)),
  }
})
