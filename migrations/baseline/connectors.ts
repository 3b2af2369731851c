import { table } from "../statements.ts"

/** Connectors to other systems. Built-in ones are defined in code. */
export const connectors: ReadonlyArray<string> = [
  ...table(
    "connectors",
    "A connector that the operator registered for all organizations. Grows with each registration.",
    `
    name text PRIMARY KEY,
    id uuid NOT NULL UNIQUE,
    version text NOT NULL,
    -- json, not jsonb, preserves the order of properties.
    settings_schema json NOT NULL,
    created_at timestamptz NOT NULL,
    created_by jsonb NOT NULL,
    updated_at timestamptz NOT NULL,
    updated_by jsonb NOT NULL
  `,
  ),
  ...table(
    "connector_inclusions",
    "Which connectors an organization may activate; without a row, all. Grows with each organization that the operator restricts.",
    `
    organization_id uuid PRIMARY KEY REFERENCES organizations (id),
    connectors text[] NOT NULL,
    updated_at timestamptz NOT NULL,
    updated_by jsonb NOT NULL
  `,
  ),
  // No foreign key to connectors: activations and settings remain while a connector is temporarily removed.
  ...table(
    "connector_activations",
    "A connector that an organization uses. Grows with each activation.",
    `
    organization_id uuid NOT NULL REFERENCES organizations (id),
    connector_name text NOT NULL,
    activated_at timestamptz NOT NULL,
    PRIMARY KEY (organization_id, connector_name)
  `,
  ),
  ...table(
    "connector_settings",
    "The settings of a connector in an organization, encrypted. Grows with each connector that an organization sets up.",
    `
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
  `,
  ),
]
