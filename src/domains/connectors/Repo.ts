/** SQL statements for connectors. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Schema } from "effect"
import type { Option } from "effect"
import { ActorReference } from "../../kernel/contract/Caller.ts"
import { advisoryLock, decoded, decodedOne, executed, returnedRow } from "../../kernel/database/Statements.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"
import { Activation, ConnectorInclusion, JsonObject } from "./Model.ts"

/** A connector that the operator registered. */
const ConnectorRow = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  version: Schema.String,
  settings_schema: JsonObject,
  createdAt: Schema.Date,
  createdBy: ActorReference,
  updatedAt: Schema.Date,
  updatedBy: ActorReference,
})
export type ConnectorRow = typeof ConnectorRow.Type

/** Stored settings, encrypted. */
const SettingsRow = Schema.Struct({
  sealed: Schema.String,
  version: Schema.String,
  settingsSchema: JsonObject,
  updatedAt: Schema.Date,
  updatedBy: ActorReference,
})
export type SettingsRow = typeof SettingsRow.Type

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
    readonly lockInclusion: (organizationId: OrganizationId, mode: "share" | "change") => Effect.Effect<void>
    /** The inclusion of an organization, none if the operator has not set one. */
    readonly findInclusion: (organizationId: OrganizationId) => Effect.Effect<Option.Option<ConnectorInclusion>>
    /** Stores the inclusion in place of the current one. */
    readonly putInclusion: (organizationId: OrganizationId, row: StoredInclusion) => Effect.Effect<void>
    /** The activation of a connector, none if it is not active. */
    readonly findActivation: (organizationId: OrganizationId, name: string) => Effect.Effect<Option.Option<Activation>>
    /** All activations of an organization. */
    readonly activations: (organizationId: OrganizationId) => Effect.Effect<ReadonlyArray<Activation>>
    /** Stores the activation. Returns false if the connector was already active. */
    readonly activate: (organizationId: OrganizationId, row: Activation) => Effect.Effect<boolean>
    /** Deletes the activation. Returns it, or none if the connector was not active. */
    readonly deactivate: (organizationId: OrganizationId, name: string) => Effect.Effect<Option.Option<Activation>>
    /** Locks the settings until the transaction ends, so that changes merge one after the other, even the first. */
    readonly lockSettings: (organizationId: OrganizationId, name: string) => Effect.Effect<void>
    /** The encrypted settings of a connector. */
    readonly findSettings: (organizationId: OrganizationId, name: string) => Effect.Effect<Option.Option<SettingsRow>>
    /** Stores the settings in place of the current ones. */
    readonly putSettings: (organizationId: OrganizationId, name: string, row: SettingsRow) => Effect.Effect<void>
    /** Deletes the settings and returns whether there were any. */
    readonly deleteSettings: (organizationId: OrganizationId, name: string) => Effect.Effect<boolean>
  }
>()("keyshelf/connectors/Repo") {
  static readonly layer = Layer.suspend(() => Layer.effect(ConnectorsRepo, make))
}

const registered = (sql: PgClient.PgClient) => {
  const connectorColumns = sql.literal(`id, name, version, settings_schema, created_at AS "createdAt",
    created_by AS "createdBy", updated_at AS "updatedAt", updated_by AS "updatedBy"`)

  return {
    all: decoded(ConnectorRow)(sql`SELECT ${connectorColumns} FROM connectors ORDER BY id DESC`),

    find: (name: string) =>
      decodedOne(ConnectorRow)(sql`SELECT ${connectorColumns} FROM connectors WHERE name = ${name}`),

    upsert: (row: ConnectorRow) =>
      decodedOne(ConnectorRow)(sql`
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
  lockInclusion: (organizationId: OrganizationId, mode: "share" | "change") =>
    advisoryLock(sql, `connectors.inclusion:${organizationId}`, mode === "share" ? "shared" : "alone"),

  findInclusion: (organizationId: OrganizationId) =>
    decodedOne(ConnectorInclusion)(sql`
      SELECT organization_id AS "organizationId", connectors, updated_at AS "updatedAt", updated_by AS "updatedBy"
      FROM connector_inclusions WHERE organization_id = ${organizationId}`),

  putInclusion: (organizationId: OrganizationId, row: StoredInclusion) =>
    executed(sql`
      INSERT INTO connector_inclusions (organization_id, connectors, updated_at, updated_by)
      VALUES (${organizationId}, ${row.connectors}::text[], ${row.updatedAt}, ${sql.json(row.updatedBy)})
      ON CONFLICT (organization_id) DO UPDATE SET connectors = excluded.connectors,
        updated_at = excluded.updated_at, updated_by = excluded.updated_by`),
})

const activations = (sql: PgClient.PgClient) => ({
  findActivation: (organizationId: OrganizationId, name: string) =>
    decodedOne(Activation)(sql`
      SELECT connector_name AS "connectorName", activated_at AS "activatedAt" FROM connector_activations
      WHERE organization_id = ${organizationId} AND connector_name = ${name}`),

  activations: (organizationId: OrganizationId) =>
    decoded(Activation)(sql`
      SELECT connector_name AS "connectorName", activated_at AS "activatedAt" FROM connector_activations
      WHERE organization_id = ${organizationId}`),

  activate: (organizationId: OrganizationId, row: Activation) =>
    returnedRow(sql`
      INSERT INTO connector_activations (organization_id, connector_name, activated_at)
      VALUES (${organizationId}, ${row.connectorName}, ${row.activatedAt})
      ON CONFLICT (organization_id, connector_name) DO NOTHING
      RETURNING connector_name`),

  deactivate: (organizationId: OrganizationId, name: string) =>
    decodedOne(Activation)(sql`
      DELETE FROM connector_activations WHERE organization_id = ${organizationId} AND connector_name = ${name}
      RETURNING connector_name AS "connectorName", activated_at AS "activatedAt"`),
})

const settings = (sql: PgClient.PgClient) => {
  const settingsColumns = sql.literal(`sealed, version, settings_schema AS "settingsSchema", updated_at AS "updatedAt",
    updated_by AS "updatedBy"`)

  return {
    lockSettings: (organizationId: OrganizationId, name: string) =>
      advisoryLock(sql, `connectors.settings:${organizationId}:${name}`),

    findSettings: (organizationId: OrganizationId, name: string) =>
      decodedOne(SettingsRow)(sql`
        SELECT ${settingsColumns} FROM connector_settings
        WHERE organization_id = ${organizationId} AND connector_name = ${name}`),

    putSettings: (organizationId: OrganizationId, name: string, row: SettingsRow) =>
      executed(sql`
        INSERT INTO connector_settings (organization_id, connector_name, sealed, version, settings_schema, updated_at,
          updated_by)
        VALUES (${organizationId}, ${name}, ${row.sealed}, ${row.version},
          ${JSON.stringify(row.settingsSchema)}::json, ${row.updatedAt}, ${sql.json(row.updatedBy)})
        ON CONFLICT (organization_id, connector_name) DO UPDATE SET sealed = excluded.sealed,
          version = excluded.version, settings_schema = excluded.settings_schema, updated_at = excluded.updated_at,
          updated_by = excluded.updated_by`),

    deleteSettings: (organizationId: OrganizationId, name: string) =>
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
