import { table } from "../statements.ts"

/** Versions of software parts. */
export const components: ReadonlyArray<string> = [
  ...table(
    "components",
    "One version of a software part. Grows with each version that an organization publishes.",
    `
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
  `,
  ),
]
