/** SQL of releases and their links to components. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer } from "effect"
import type { Component } from "../components/Model.ts"
import { affectedRows } from "../../kernel/database/AffectedRows.ts"
import { idBefore } from "../../kernel/contract/Page.ts"
import type { Position } from "../../kernel/contract/Page.ts"
import { record, records, returnedRow } from "../../kernel/database/Statements.ts"
import type { Release } from "./Model.ts"
import type { Option } from "effect"
import type { Affected } from "../../kernel/contract/dryruns/Impact.ts"

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
    readonly insert: (organizationId: string, row: ReleaseRow) => Effect.Effect<boolean>
    /** Links the components in the order of their ids. */
    readonly link: (organizationId: string, id: string, componentIds: ReadonlyArray<string>) => Effect.Effect<void>
    /** Finds components by id, sorted by id, and locks them: none can be deleted before its link commits. */
    readonly lockComponents: (
      organizationId: string,
      ids: ReadonlyArray<string>,
    ) => Effect.Effect<ReadonlyArray<Component>>
    /** The components of the given releases. Components of one release are in link order. */
    readonly componentsOf: (
      organizationId: string,
      ids: ReadonlyArray<string>,
    ) => Effect.Effect<ReadonlyArray<LinkedComponent>>
    /** A release without its components. */
    readonly findBySlug: (organizationId: string, slug: string) => Effect.Effect<Option.Option<ReleaseRow>>
    /** The releases after a position, newest first. */
    readonly list: (
      organizationId: string,
      after: Position | null,
      count: number,
    ) => Effect.Effect<ReadonlyArray<ReleaseRow>>
    /** Locks the row: no zone can switch to the release before the transaction ends. */
    readonly lockBySlug: (organizationId: string, slug: string) => Effect.Effect<Option.Option<ReleaseRow>>
    /** The zones that run the release. */
    readonly zonesOn: (organizationId: string, id: string) => Effect.Effect<Affected<{ readonly slug: string }>>
    /** Deletes the release and, by cascade, its links. */
    readonly delete: (organizationId: string, id: string) => Effect.Effect<void>
  }
>()("keyshelf/releases/Repo") {
  static readonly layer = Layer.effect(
    ReleasesRepo,
    Effect.suspend(() => make),
  )
}

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const columns = sql.literal(`id, slug, version, description, created_at AS "createdAt", created_by AS "createdBy"`)
  const componentColumns = sql.literal(`components.id, components.name, components.version, components.slug,
    components.description, components.previous_component_id AS "previousComponentId",
    components.created_at AS "createdAt", components.created_by AS "createdBy"`)

  return {
    insert: (organizationId: string, row: ReleaseRow) =>
      returnedRow(sql`
        INSERT INTO releases (organization_id, id, slug, version, description, created_at, created_by)
        VALUES (${organizationId}, ${row.id}, ${row.slug}, ${row.version}, ${row.description}, ${row.createdAt},
          ${sql.json(row.createdBy)})
        ON CONFLICT ON CONSTRAINT releases_slug DO NOTHING
        RETURNING id`),

    link: (organizationId: string, id: string, componentIds: ReadonlyArray<string>) =>
      Effect.asVoid(
        Effect.orDie(sql`
          INSERT INTO release_components (organization_id, release_id, component_id, ordinal)
          SELECT ${organizationId}::uuid, ${id}::uuid, linked.component_id, linked.ordinal
          FROM unnest(${componentIds}::uuid[]) WITH ORDINALITY AS linked (component_id, ordinal)`),
      ),

    lockComponents: (organizationId: string, ids: ReadonlyArray<string>) =>
      records<Component>()(sql`
        SELECT ${componentColumns} FROM components
        WHERE organization_id = ${organizationId} AND id = ANY(${ids}::uuid[])
        ORDER BY id FOR KEY SHARE`),

    componentsOf: (organizationId: string, ids: ReadonlyArray<string>) =>
      records<LinkedComponent>()(sql`
        SELECT link.release_id AS "releaseId", ${componentColumns}
        FROM release_components link
        JOIN components ON components.organization_id = link.organization_id AND components.id = link.component_id
        WHERE link.organization_id = ${organizationId} AND link.release_id = ANY(${ids}::uuid[])
        ORDER BY link.release_id, link.ordinal`),

    findBySlug: (organizationId: string, slug: string) =>
      record<ReleaseRow>()(
        sql`SELECT ${columns} FROM releases WHERE organization_id = ${organizationId} AND slug = ${slug}`,
      ),

    list: (organizationId: string, after: Position | null, count: number) =>
      records<ReleaseRow>()(sql`
        SELECT ${columns} FROM releases
        WHERE organization_id = ${organizationId} AND id < ${idBefore(after)}
        ORDER BY id DESC LIMIT ${count}`),

    lockBySlug: (organizationId: string, slug: string) =>
      record<ReleaseRow>()(sql`
        SELECT ${columns} FROM releases WHERE organization_id = ${organizationId} AND slug = ${slug} FOR UPDATE`),

    zonesOn: (organizationId: string, id: string) =>
      affectedRows<{ readonly slug: string }>()(
        sql,
        sql`
          SELECT slug FROM deployment_zones WHERE organization_id = ${organizationId} AND release_id = ${id} ORDER BY id`,
      ),

    delete: (organizationId: string, id: string) =>
      Effect.asVoid(Effect.orDie(sql`DELETE FROM releases WHERE organization_id = ${organizationId} AND id = ${id}`)),
  }
})
