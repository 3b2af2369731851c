import { table } from "../statements.ts"

/** Releases: sets of component versions. */
export const releases: ReadonlyArray<string> = [
  ...table(
    "releases",
    "A set of component versions that are deployed together. Grows with each release of an organization.",
    `
    organization_id uuid NOT NULL REFERENCES organizations (id),
    id uuid NOT NULL,
    version text NOT NULL,
    slug text NOT NULL,
    description text,
    created_at timestamptz NOT NULL,
    created_by jsonb NOT NULL,
    PRIMARY KEY (organization_id, id),
    CONSTRAINT releases_slug UNIQUE (organization_id, slug)
  `,
  ),
  ...table(
    "release_components",
    "A component of a release, in the order in which the release lists them. Grows with each release.",
    `
    organization_id uuid NOT NULL,
    release_id uuid NOT NULL,
    component_id uuid NOT NULL,
    ordinal integer NOT NULL,
    PRIMARY KEY (organization_id, release_id, component_id),
    FOREIGN KEY (organization_id, release_id) REFERENCES releases (organization_id, id) ON DELETE CASCADE,
    FOREIGN KEY (organization_id, component_id) REFERENCES components (organization_id, id)
  `,
  ),
  `CREATE INDEX release_components_component ON release_components (organization_id, component_id)`,
]
