import { statements } from "./statements.ts"

export default statements(
  // Connectors that the operator registered for all organizations. Built-in connectors are defined in code.
  `CREATE TABLE connectors (
    name text PRIMARY KEY,
    id uuid NOT NULL UNIQUE,
    version text NOT NULL,
    -- json, not jsonb, preserves the order of properties.
    settings_schema json NOT NULL,
    created_at timestamptz NOT NULL,
    created_by jsonb NOT NULL,
    updated_at timestamptz NOT NULL,
    updated_by jsonb NOT NULL
  )`,
  // An organization without a row may activate all connectors.
  `CREATE TABLE connector_inclusions (
    organization_id uuid PRIMARY KEY REFERENCES organizations (id),
    connectors text[] NOT NULL,
    updated_at timestamptz NOT NULL,
    updated_by jsonb NOT NULL
  )`,
  // No foreign key to connectors: activations and settings remain while a connector is temporarily removed.
  `CREATE TABLE connector_activations (
    organization_id uuid NOT NULL REFERENCES organizations (id),
    connector_name text NOT NULL,
    activated_at timestamptz NOT NULL,
    PRIMARY KEY (organization_id, connector_name)
  )`,
  `CREATE TABLE connector_settings (
    organization_id uuid NOT NULL REFERENCES organizations (id),
    connector_name text NOT NULL,
    -- The entire settings document, encrypted.
    sealed text NOT NULL,
    version text NOT NULL,
    -- The schema at the time of storing: its secrets stay hidden when another version is registered.
    settings_schema json NOT NULL,
    updated_at timestamptz NOT NULL,
    updated_by jsonb NOT NULL,
    PRIMARY KEY (organization_id, connector_name)
  )`,
)
