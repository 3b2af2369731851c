import { table } from "../statements.ts"

/** Feature flags. */
export const flags: ReadonlyArray<string> = [
  ...table(
    "feature_flags",
    "A feature flag with its variants and targetings. Grows with each flag of an organization.",
    `
    organization_id uuid NOT NULL REFERENCES organizations (id),
    id uuid NOT NULL,
    key text NOT NULL COLLATE "C",
    name text NOT NULL,
    description text,
    type text NOT NULL CHECK (type IN ('boolean', 'string', 'integer', 'float', 'object')),
    enabled boolean NOT NULL,
    metadata jsonb NOT NULL,
    variants jsonb NOT NULL,
    default_variant text,
    targetings jsonb NOT NULL,
    created_at timestamptz NOT NULL,
    created_by jsonb NOT NULL,
    updated_at timestamptz NOT NULL,
    updated_by jsonb NOT NULL,
    PRIMARY KEY (organization_id, id),
    CONSTRAINT feature_flags_key UNIQUE (organization_id, key)
  `,
  ),
]
