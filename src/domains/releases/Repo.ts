/** SQL of releases and their links to components. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer } from "effect"
import { componentsSql } from "../components/ComponentsSql.ts"
import { Component } from "../components/Model.ts"
import { affectedRows } from "../../kernel/database/AffectedRows.ts"
import { idBefore } from "../../kernel/contract/Page.ts"
import type { Position } from "../../kernel/contract/Page.ts"
import { decoded, executed, record, records, returnedRow } from "../../kernel/database/Statements.ts"
import type { Release } from "./Model.ts"
import type { Option } from "effect"
import type { Affected } from "../../kernel/contract/dryruns/Impact.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"

/** A release without its components, which are stored in separate rows. */
export type ReleaseRow = Omit<Release, "componentIds" | "components">

/** A component with the id of the release that links it. */
interface LinkedComponent extends Component {
  readonly releaseId: string
}

/** Stores and reads releases and their links to components. */
export class ReleasesRepo extends Context.Service<
  ReleasesRepo,
  {
    /** Stores the row if its slug is free and returns whether it was. */
    readonly insert: (organizationId: OrganizationId, row: ReleaseRow) => Effect.Effect<boolean>
    /** Links the components in the order of their ids. */
    readonly link: (
      organizationId: OrganizationId,
      id: string,
      componentIds: ReadonlyArray<string>,
    ) => Effect.Effect<void>
    /** Finds components by id, sorted by id, and locks them: none can be deleted before its link commits. */
    readonly lockComponents: (
      organizationId: OrganizationId,
      ids: ReadonlyArray<string>,
    ) => Effect.Effect<ReadonlyArray<Component>>
    /** The components of the given releases. Components of one release are in link order. */
    readonly componentsOf: (
      organizationId: OrganizationId,
      ids: ReadonlyArray<string>,
    ) => Effect.Effect<ReadonlyArray<LinkedComponent>>
    /** A release without its components. */
    readonly findBySlug: (organizationId: OrganizationId, slug: string) => Effect.Effect<Option.Option<ReleaseRow>>
    /** The releases after a position, newest first. */
    readonly list: (
      organizationId: OrganizationId,
      after: Position | null,
      count: number,
    ) => Effect.Effect<ReadonlyArray<ReleaseRow>>
    /** Locks the row: no zone can switch to the release before the transaction ends. */
    readonly lockBySlug: (organizationId: OrganizationId, slug: string) => Effect.Effect<Option.Option<ReleaseRow>>
    /** The releases that contain a component: their count, and the names of the first ones. */
    readonly containing: (
      organizationId: OrganizationId,
      component: { readonly id: string },
    ) => Effect.Effect<Affected<{ readonly slug: string }>>
    /** Deletes the release and, by cascade, its links. */
    readonly delete: (organizationId: OrganizationId, id: string) => Effect.Effect<void>
  }
>()("keyshelf/releases/Repo") {
  static readonly layer = Layer.suspend(() => Layer.effect(ReleasesRepo, make))
}

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const columns = sql.literal(`id, slug, version, description, created_at AS "createdAt", created_by AS "createdBy"`)
  const componentColumns = sql.literal(`components.id, components.name, components.version, components.slug,
    components.description, components.previous_component_id AS "previousComponentId",
    components.created_at AS "createdAt", components.created_by AS "createdBy"`)

  return ReleasesRepo.of({
    insert: (organizationId, row) =>
      returnedRow(sql`
        INSERT INTO releases (organization_id, id, slug, version, description, created_at, created_by)
        VALUES (${organizationId}, ${row.id}, ${row.slug}, ${row.version}, ${row.description}, ${row.createdAt},
          ${sql.json(row.createdBy)})
        ON CONFLICT ON CONSTRAINT releases_slug DO NOTHING
        RETURNING id`),

    link: (organizationId, id, componentIds) =>
      executed(sql`
        INSERT INTO release_components (organization_id, release_id, component_id, ordinal)
        SELECT ${organizationId}::uuid, ${id}::uuid, linked.component_id, linked.ordinal
        FROM unnest(${componentIds}::uuid[]) WITH ORDINALITY AS linked (component_id, ordinal)`),

    lockComponents: (organizationId, ids) =>
      decoded(Component)(sql`
        SELECT ${componentColumns} FROM ${componentsSql.rows}
        WHERE organization_id = ${organizationId} AND id = ANY(${ids}::uuid[])
        ORDER BY id FOR KEY SHARE`),

    componentsOf: (organizationId, ids) =>
      records<LinkedComponent>()(sql`
        SELECT link.release_id AS "releaseId", ${componentColumns}
        FROM release_components link
        JOIN ${componentsSql.on("components", "link.component_id")}
        WHERE link.organization_id = ${organizationId} AND link.release_id = ANY(${ids}::uuid[])
        ORDER BY link.release_id, link.ordinal`),

    findBySlug: (organizationId, slug) =>
      record<ReleaseRow>()(
        sql`SELECT ${columns} FROM releases WHERE organization_id = ${organizationId} AND slug = ${slug}`,
      ),

    list: (organizationId, after, count) =>
      records<ReleaseRow>()(sql`
        SELECT ${columns} FROM releases
        WHERE organization_id = ${organizationId} AND id < ${idBefore(after)}
        ORDER BY id DESC LIMIT ${count}`),

    lockBySlug: (organizationId, slug) =>
      record<ReleaseRow>()(sql`
        SELECT ${columns} FROM releases WHERE organization_id = ${organizationId} AND slug = ${slug} FOR UPDATE`),

    containing: (organizationId, { id }) =>
      affectedRows<{ readonly slug: string }>()(
        sql,
        sql`
          SELECT r.slug FROM release_components l
          JOIN releases r ON r.organization_id = l.organization_id AND r.id = l.release_id
          WHERE l.organization_id = ${organizationId} AND l.component_id = ${id} ORDER BY r.id`,
      ),

    delete: (organizationId, id) =>
      executed(sql`DELETE FROM releases WHERE organization_id = ${organizationId} AND id = ${id}`),
  })
})
