import { searchIndexes, table } from "../statements.ts"

/** Where releases run. */
export const zones: ReadonlyArray<string> = [
  ...table(
    "deployment_zones",
    "A place where a release runs. Grows with each zone of an organization.",
    `
    organization_id uuid NOT NULL REFERENCES organizations (id),
    id uuid NOT NULL,
    name text NOT NULL,
    slug text NOT NULL,
    description text,
    type text NOT NULL,
    metadata jsonb NOT NULL,
    release_id uuid,
    created_at timestamptz NOT NULL,
    created_by jsonb NOT NULL,
    updated_at timestamptz NOT NULL,
    updated_by jsonb NOT NULL,
    PRIMARY KEY (organization_id, id),
    CONSTRAINT deployment_zones_slug UNIQUE (organization_id, slug),
    -- A release that a zone runs cannot be deleted.
    FOREIGN KEY (organization_id, release_id) REFERENCES releases (organization_id, id)
  `,
  ),
  ...searchIndexes("deployment_zones"),
  `CREATE INDEX deployment_zones_type ON deployment_zones (organization_id, type, id)`,
  `CREATE INDEX deployment_zones_newest ON deployment_zones (organization_id, release_id, id)`,
  // It stores slug and version as text, so that it outlives a deleted release.
  ...table(
    "deployments",
    "A release that a zone ran from a time on. Grows with each deployment; deleted with its zone.",
    `
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    deployment_zone_id uuid NOT NULL,
    release_id uuid NOT NULL,
    release_slug text NOT NULL,
    release_version text NOT NULL,
    deployed_at timestamptz NOT NULL,
    deployed_by jsonb NOT NULL,
    PRIMARY KEY (organization_id, deployment_zone_id, id),
    FOREIGN KEY (organization_id, deployment_zone_id)
      REFERENCES deployment_zones (organization_id, id) ON DELETE CASCADE
  `,
  ),
]
