import { table } from "../statements.ts"

/** Moves of many instances from one license version to another, in batches. */
export const licensemoves: ReadonlyArray<string> = [
  // The row is the lock of its batches, and says how far the migration is: `processed` instances, up to `cursor_id`, or up to that place
  // of `instance_slugs`.
  ...table(
    "license_migrations",
    "A move of many instances from one license version to another. Grows with each requested move.",
    `
    organization_id uuid NOT NULL REFERENCES organizations (id),
    id uuid NOT NULL,
    from_license_id uuid NOT NULL,
    from_slug text NOT NULL,
    to_license_id uuid NOT NULL,
    to_slug text NOT NULL,
    customer_id uuid,
    instance_slugs text[],
    state text NOT NULL CHECK (state IN ('SCHEDULED', 'RUNNING', 'DONE', 'REVERTING', 'REVERTED', 'CANCELLED')),
    at timestamptz NOT NULL,
    total integer NOT NULL,
    moved integer NOT NULL DEFAULT 0,
    skipped integer NOT NULL DEFAULT 0,
    failed integer NOT NULL DEFAULT 0,
    processed integer NOT NULL DEFAULT 0,
    cursor_id uuid,
    reverted_to integer NOT NULL DEFAULT 0,
    stepped_at timestamptz,
    created_at timestamptz NOT NULL,
    created_by jsonb NOT NULL,
    finished_at timestamptz,
    reverted_by jsonb,
    PRIMARY KEY (organization_id, id)
  `,
  ),
  `CREATE INDEX license_migrations_open ON license_migrations (stepped_at NULLS FIRST, id)
    WHERE state IN ('SCHEDULED', 'RUNNING', 'REVERTING')`,
  ...table(
    "license_migration_items",
    "What became of one instance in a license migration. Grows by a row for each instance of each migration.",
    `
    organization_id uuid NOT NULL,
    migration_id uuid NOT NULL,
    position integer NOT NULL,
    instance_id uuid,
    instance_slug text NOT NULL,
    state text NOT NULL CHECK (state IN ('MOVED', 'SKIPPED', 'FAILED', 'REVERTED', 'KEPT')),
    code text,
    PRIMARY KEY (organization_id, migration_id, position),
    FOREIGN KEY (organization_id, migration_id) REFERENCES license_migrations (organization_id, id) ON DELETE CASCADE
  `,
  ),
]
