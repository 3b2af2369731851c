import { statements } from "./statements.ts"

export default statements(
  // Registered by the operator, for every organization. The built-in ones are in the code.
  `CREATE TABLE connectors (
    name text PRIMARY KEY,
    id uuid NOT NULL UNIQUE,
    version text NOT NULL,
    -- As text: the members of a schema keep their order.
    settings_schema json NOT NULL,
    created_at timestamptz NOT NULL,
    created_by jsonb NOT NULL,
    updated_at timestamptz NOT NULL,
    updated_by jsonb NOT NULL
  )`,
  // An organization without a row may activate every connector.
  `CREATE TABLE connector_inclusions (
    organization_id uuid PRIMARY KEY REFERENCES organizations (id),
    connectors text[] NOT NULL,
    updated_at timestamptz NOT NULL,
    updated_by jsonb NOT NULL
  )`,
  // No reference to connectors: an activation and its settings outlive a connector that is removed for a while.
  `CREATE TABLE connector_activations (
    organization_id uuid NOT NULL REFERENCES organizations (id),
    connector_name text NOT NULL,
    activated_at timestamptz NOT NULL,
    PRIMARY KEY (organization_id, connector_name)
  )`,
  `CREATE TABLE connector_settings (
    organization_id uuid NOT NULL REFERENCES organizations (id),
    connector_name text NOT NULL,
    -- The whole document, encrypted.
    sealed text NOT NULL,
    version text NOT NULL,
    -- The schema they were stored under: what it calls secret stays secret when another version is registered.
    settings_schema json NOT NULL,
    updated_at timestamptz NOT NULL,
    updated_by jsonb NOT NULL,
    PRIMARY KEY (organization_id, connector_name)
  )`,
)
