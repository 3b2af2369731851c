/** SQL statements for connectors. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer } from "effect"
import type { Option } from "effect"
import type { ActorReference } from "../../kernel/contract/Caller.ts"
import { advisoryLock, record, records, returnedRow } from "../../kernel/database/Statements.ts"
import type { Activation, ConnectorInclusion, JsonObject } from "./Model.ts"

/** A connector that the operator registered. */
export interface ConnectorRow {
  readonly id: string
  readonly name: string
  readonly version: string
  readonly settings_schema: JsonObject
  readonly createdAt: Date
  readonly createdBy: ActorReference
  readonly updatedAt: Date
  readonly updatedBy: ActorReference
}

/** Stored settings, encrypted. */
export interface SettingsRow {
  readonly sealed: string
  readonly version: string
  readonly settingsSchema: JsonObject
  readonly updatedAt: Date
  readonly updatedBy: ActorReference
}

/** An inclusion that the operator has set. */
interface StoredInclusion {
  readonly connectors: ReadonlyArray<string>
  readonly updatedAt: Date
  readonly updatedBy: ActorReference
}

/** Stores connectors, inclusions, activations and settings. */
export class ConnectorsRepo extends Context.Service<
  ConnectorsRepo,
  {
    /** All registered connectors, newest first. */
    readonly all: Effect.Effect<ReadonlyArray<ConnectorRow>>
    /** The registered connector with a name. */
    readonly find: (name: string) => Effect.Effect<Option.Option<ConnectorRow>>
    /** Inserts the connector, or updates its version and schema. Returns the stored row. */
    readonly upsert: (row: ConnectorRow) => Effect.Effect<Option.Option<ConnectorRow>>
    /** Deletes a registered connector and returns whether it existed. */
    readonly delete: (name: string) => Effect.Effect<boolean>
    /** Locks an organization's inclusion until the transaction ends, so that no activation races with its change. */
    readonly lockInclusion: (organizationId: string, mode: "share" | "change") => Effect.Effect<void>
    /** The inclusion of an organization, none if the operator has not set one. */
    readonly findInclusion: (organizationId: string) => Effect.Effect<Option.Option<ConnectorInclusion>>
    /** Stores the inclusion in place of the current one. */
    readonly putInclusion: (organizationId: string, row: StoredInclusion) => Effect.Effect<void>
    /** The activation of a connector, none if it is not active. */
    readonly findActivation: (organizationId: string, name: string) => Effect.Effect<Option.Option<Activation>>
    /** All activations of an organization. */
    readonly activations: (organizationId: string) => Effect.Effect<ReadonlyArray<Activation>>
    /** Stores the activation. Returns false if the connector was already active. */
    readonly activate: (organizationId: string, row: Activation) => Effect.Effect<boolean>
    /** Deletes the activation. Returns it, or none if the connector was not active. */
    readonly deactivate: (organizationId: string, name: string) => Effect.Effect<Option.Option<Activation>>
    /** Locks the settings until the transaction ends, so that changes merge one after the other, even the first. */
    readonly lockSettings: (organizationId: string, name: string) => Effect.Effect<void>
    /** The encrypted settings of a connector. */
    readonly findSettings: (organizationId: string, name: string) => Effect.Effect<Option.Option<SettingsRow>>
    /** Stores the settings in place of the current ones. */
    readonly putSettings: (organizationId: string, name: string, row: SettingsRow) => Effect.Effect<void>
    /** Deletes the settings and returns whether there were any. */
    readonly deleteSettings: (organizationId: string, name: string) => Effect.Effect<boolean>
  }
>()("keyshelf/connectors/Repo") {
  static readonly layer = Layer.effect(
    ConnectorsRepo,
    Effect.suspend(() => make),
  )
}

const registered = (sql: PgClient.PgClient) => {
  const connectorColumns = sql.literal(`id, name, version, settings_schema, created_at AS "createdAt",
    created_by AS "createdBy", updated_at AS "updatedAt", updated_by AS "updatedBy"`)

  return {
    all: records<ConnectorRow>()(sql`SELECT ${connectorColumns} FROM connectors ORDER BY id DESC`),

    find: (name: string) =>
      record<ConnectorRow>()(sql`SELECT ${connectorColumns} FROM connectors WHERE name = ${name}`),

    upsert: (row: ConnectorRow) =>
      record<ConnectorRow>()(sql`
        INSERT INTO connectors (id, name, version, settings_schema, created_at, created_by, updated_at, updated_by)
        VALUES (${row.id}, ${row.name}, ${row.version}, ${JSON.stringify(row.settings_schema)}::json, ${row.createdAt},
          ${sql.json(row.createdBy)}, ${row.updatedAt}, ${sql.json(row.updatedBy)})
        ON CONFLICT (name) DO UPDATE SET version = excluded.version, settings_schema = excluded.settings_schema,
          updated_at = excluded.updated_at, updated_by = excluded.updated_by
        RETURNING ${connectorColumns}`),

    delete: (name: string) => returnedRow(sql`DELETE FROM connectors WHERE name = ${name} RETURNING name`),
  }
}

const inclusions = (sql: PgClient.PgClient) => ({
  lockInclusion: (organizationId: string, mode: "share" | "change") =>
    advisoryLock(sql, `connectors.inclusion:${organizationId}`, mode === "share" ? "shared" : "alone"),

  findInclusion: (organizationId: string) =>
    record<ConnectorInclusion>()(sql`
      SELECT organization_id AS "organizationId", connectors, updated_at AS "updatedAt", updated_by AS "updatedBy"
      FROM connector_inclusions WHERE organization_id = ${organizationId}`),

  putInclusion: (organizationId: string, row: StoredInclusion) =>
    Effect.asVoid(
      Effect.orDie(sql`
        INSERT INTO connector_inclusions (organization_id, connectors, updated_at, updated_by)
        VALUES (${organizationId}, ${row.connectors}::text[], ${row.updatedAt}, ${sql.json(row.updatedBy)})
        ON CONFLICT (organization_id) DO UPDATE SET connectors = excluded.connectors,
          updated_at = excluded.updated_at, updated_by = excluded.updated_by`),
    ),
})

const activations = (sql: PgClient.PgClient) => ({
  findActivation: (organizationId: string, name: string) =>
    record<Activation>()(sql`
      SELECT connector_name AS "connectorName", activated_at AS "activatedAt" FROM connector_activations
      WHERE organization_id = ${organizationId} AND connector_name = ${name}`),

  activations: (organizationId: string) =>
    records<Activation>()(sql`
      SELECT connector_name AS "connectorName", activated_at AS "activatedAt" FROM connector_activations
      WHERE organization_id = ${organizationId}`),

  activate: (organizationId: string, row: Activation) =>
    returnedRow(sql`
      INSERT INTO connector_activations (organization_id, connector_name, activated_at)
      VALUES (${organizationId}, ${row.connectorName}, ${row.activatedAt})
      ON CONFLICT (organization_id, connector_name) DO NOTHING
      RETURNING connector_name`),

  deactivate: (organizationId: string, name: string) =>
    record<Activation>()(sql`
      DELETE FROM connector_activations WHERE organization_id = ${organizationId} AND connector_name = ${name}
      RETURNING connector_name AS "connectorName", activated_at AS "activatedAt"`),
})

const settings = (sql: PgClient.PgClient) => {
  const settingsColumns = sql.literal(`sealed, version, settings_schema AS "settingsSchema", updated_at AS "updatedAt",
    updated_by AS "updatedBy"`)

  return {
    lockSettings: (organizationId: string, name: string) =>
      advisoryLock(sql, `connectors.settings:${organizationId}:${name}`),

    findSettings: (organizationId: string, name: string) =>
      record<SettingsRow>()(sql`
        SELECT ${settingsColumns} FROM connector_settings
        WHERE organization_id = ${organizationId} AND connector_name = ${name}`),

    putSettings: (organizationId: string, name: string, row: SettingsRow) =>
      Effect.asVoid(
        Effect.orDie(sql`
          INSERT INTO connector_settings (organization_id, connector_name, sealed, version, settings_schema, updated_at,
            updated_by)
          VALUES (${organizationId}, ${name}, ${row.sealed}, ${row.version},
            ${JSON.stringify(row.settingsSchema)}::json, ${row.updatedAt}, ${sql.json(row.updatedBy)})
          ON CONFLICT (organization_id, connector_name) DO UPDATE SET sealed = excluded.sealed,
            version = excluded.version, settings_schema = excluded.settings_schema, updated_at = excluded.updated_at,
            updated_by = excluded.updated_by`),
      ),

    deleteSettings: (organizationId: string, name: string) =>
      returnedRow(sql`
        DELETE FROM connector_settings WHERE organization_id = ${organizationId} AND connector_name = ${name}
        RETURNING connector_name`),
  }
}

const make = Effect.map(PgClient.PgClient, (sql) => ({
  ...registered(sql),
  ...inclusions(sql),
  ...activations(sql),
  ...settings(sql),
}))
