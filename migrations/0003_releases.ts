import { statements } from "./statements.ts"

export default statements(
  `CREATE TABLE components (
    organization_id uuid NOT NULL REFERENCES organizations (id),
    id uuid NOT NULL,
    name text NOT NULL,
    version text NOT NULL,
    slug text NOT NULL,
    description text,
    -- No foreign key: the reference remains after the previous version is deleted.
    previous_component_id uuid,
    created_at timestamptz NOT NULL,
    created_by jsonb NOT NULL,
    PRIMARY KEY (organization_id, id),
    CONSTRAINT components_slug UNIQUE (organization_id, slug)
  )`,
  `CREATE TABLE releases (
    organization_id uuid NOT NULL REFERENCES organizations (id),
    id uuid NOT NULL,
    version text NOT NULL,
    slug text NOT NULL,
    description text,
    created_at timestamptz NOT NULL,
    created_by jsonb NOT NULL,
    PRIMARY KEY (organization_id, id),
    CONSTRAINT releases_slug UNIQUE (organization_id, slug)
  )`,
  `CREATE TABLE release_components (
    organization_id uuid NOT NULL,
    release_id uuid NOT NULL,
    component_id uuid NOT NULL,
    ordinal integer NOT NULL,
    PRIMARY KEY (organization_id, release_id, component_id),
    FOREIGN KEY (organization_id, release_id) REFERENCES releases (organization_id, id) ON DELETE CASCADE,
    FOREIGN KEY (organization_id, component_id) REFERENCES components (organization_id, id)
  )`,
  `CREATE INDEX release_components_component ON release_components (organization_id, component_id)`,
)
