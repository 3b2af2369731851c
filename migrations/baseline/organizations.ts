import { table } from "../statements.ts"

/** The tenants. Everything else belongs to one of them, but for users, platform credentials and registered connectors. */
export const organizations: ReadonlyArray<string> = [
  ...table(
    "organizations",
    "A tenant. Grows with each organization that an operator creates. A removed one answers like one that does not exist, while the sweeper deletes its rows; its own row goes last.",
    `
    id uuid PRIMARY KEY,
    name text NOT NULL,
    slug text NOT NULL CONSTRAINT organizations_slug UNIQUE,
    external_id text CONSTRAINT organizations_external_id UNIQUE,
    created_at timestamptz NOT NULL,
    created_by jsonb NOT NULL,
    updated_at timestamptz NOT NULL,
    updated_by jsonb NOT NULL,
    removed_at timestamptz,
    removed_by jsonb
  `,
  ),
  // Every look-up of a credential checks whether its organization is removed. The index is nearly always empty.
  `CREATE INDEX organizations_removed ON organizations (id) WHERE removed_at IS NOT NULL`,
]
