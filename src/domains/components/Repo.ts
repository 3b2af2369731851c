/** SQL of components. */
import type { Fragment } from "effect/sql/Statement"
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer } from "effect"
import type { Option } from "effect"
import { idBefore } from "../../kernel/contract/Page.ts"
import type { Position } from "../../kernel/contract/Page.ts"
import { pageIds, wordsIn } from "../../kernel/database/Pages.ts"
import type { Unordered } from "../../kernel/database/Pages.ts"
import { decodedOne, executed, record, records, returnedRow } from "../../kernel/database/Statements.ts"
import { componentColumns } from "./ComponentsSql.ts"
import { Component } from "./Model.ts"
import type { ComponentFilters, Image } from "./Model.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"

/** Stores and reads components. */
export class ComponentsRepo extends Context.Service<
  ComponentsRepo,
  {
    /** The statement that stores the row, without its images, if its slug is free. */
    readonly insertStatement: (organizationId: OrganizationId, row: Component) => Fragment
    /** The component with a slug. */
    readonly findBySlug: (organizationId: OrganizationId, slug: string) => Effect.Effect<Option.Option<Component>>
    /** Whether there is a component with this id. */
    readonly exists: (organizationId: OrganizationId, id: string) => Effect.Effect<boolean>
    /** Components that match all filters after a position, newest first. */
    readonly list: (
      organizationId: OrganizationId,
      filters: ComponentFilters,
      after: Position | null,
      count: number,
    ) => Effect.Effect<ReadonlyArray<Component>>
    /** Locks the row: no release can link the component before the transaction ends. */
    readonly lockBySlug: (organizationId: OrganizationId, slug: string) => Effect.Effect<Option.Option<Component>>
    /** Replaces the images of a locked component. */
    readonly replaceImages: (
      organizationId: OrganizationId,
      id: string,
      images: ReadonlyArray<Image>,
    ) => Effect.Effect<void>
    /** Deletes a locked component and, by cascade, its images. No release may contain it. */
    readonly delete: (organizationId: OrganizationId, id: string) => Effect.Effect<void>
  }
>()("keyshelf/components/Repo") {
  static readonly layer = Layer.suspend(() => Layer.effect(ComponentsRepo, make))
}

/** The condition that a component has an image in a repository. */
const withImageIn = (sql: PgClient.PgClient, organizationId: OrganizationId, repository: string): Unordered => {
  const holders = sql`id IN (SELECT component_id FROM component_images
    WHERE organization_id = ${organizationId} AND repository = ${repository})`
  return { matches: holders, indexed: [holders] }
}

const reads = (sql: PgClient.PgClient) => {
  const pageOf = pageIds(sql, "newest")
  const columns = (organizationId: OrganizationId) => componentColumns(sql, organizationId)

  return {
    findBySlug: (organizationId: OrganizationId, slug: string) =>
      record<Component>()(
        sql`SELECT ${columns(organizationId)} FROM components WHERE organization_id = ${organizationId} AND slug = ${slug}`,
      ),

    exists: (organizationId: OrganizationId, id: string) =>
      returnedRow(sql`SELECT 1 FROM components WHERE organization_id = ${organizationId} AND id = ${id}`),

    list: (organizationId: OrganizationId, filters: ComponentFilters, after: Position | null, count: number) =>
      records<Component>()(sql`
        SELECT ${columns(organizationId)} FROM components
        WHERE organization_id = ${organizationId} AND id = ANY(ARRAY(${pageOf({
          table: "components",
          organizationId,
          after: sql`id < ${idBefore(after)}`,
          count,
          where: filters.name === undefined ? [] : [sql`name = ${filters.name}`],
          unordered: [
            ...(filters.repository === undefined ? [] : [withImageIn(sql, organizationId, filters.repository)]),
            ...(filters.q === undefined ? [] : wordsIn(sql, organizationId, filters.q)),
          ],
        })}))
        ORDER BY id DESC`),

    lockBySlug: (organizationId: OrganizationId, slug: string) =>
      decodedOne(Component)(sql`
        SELECT ${columns(organizationId)} FROM components
        WHERE organization_id = ${organizationId} AND slug = ${slug} FOR UPDATE`),
  }
}

const make = Effect.map(PgClient.PgClient, (sql) =>
  ComponentsRepo.of({
    ...reads(sql),

    insertStatement: (organizationId, row) => sql`
      INSERT INTO components (organization_id, id, name, version, slug, description, previous_component_id, created_at,
        created_by)
      VALUES (${organizationId}, ${row.id}, ${row.name}, ${row.version}, ${row.slug}, ${row.description},
        ${row.previousComponentId}, ${row.createdAt}, ${sql.json(row.createdBy)})
      ON CONFLICT ON CONSTRAINT components_slug DO NOTHING
      RETURNING id`,

    replaceImages: (organizationId, id, images) =>
      Effect.andThen(
        executed(sql`DELETE FROM component_images WHERE organization_id = ${organizationId} AND component_id = ${id}`),
        executed(sql`
          INSERT INTO component_images (organization_id, component_id, repository, reference, ordinal)
          SELECT ${organizationId}::uuid, ${id}::uuid, image.repository, image.reference, image.ordinal
          FROM unnest(${images.map(({ repository }) => repository)}::text[],
            ${images.map(({ reference }) => reference)}::text[]) WITH ORDINALITY AS image (repository, reference, ordinal)`),
      ),

    delete: (organizationId, id) =>
      executed(sql`DELETE FROM components WHERE organization_id = ${organizationId} AND id = ${id}`),
  }),
)
