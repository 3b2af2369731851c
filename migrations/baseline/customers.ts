import { searchIndexes, table } from "../statements.ts"

/** Who holds licenses. */
export const customers: ReadonlyArray<string> = [
  ...table(
    "customers",
    "A customer of an organization. Grows with each customer.",
    `
    organization_id uuid NOT NULL REFERENCES organizations (id),
    id uuid NOT NULL,
    name text NOT NULL,
    slug text NOT NULL,
    domain text,
    external_customer_id text,
    created_at timestamptz NOT NULL,
    created_by jsonb NOT NULL,
    updated_at timestamptz NOT NULL,
    updated_by jsonb NOT NULL,
    PRIMARY KEY (organization_id, id),
    CONSTRAINT customers_slug UNIQUE (organization_id, slug)
  `,
  ),
  `CREATE UNIQUE INDEX customers_external_id ON customers (organization_id, external_customer_id)
    WHERE external_customer_id IS NOT NULL`,
  ...searchIndexes("customers"),
  `CREATE INDEX customers_domain ON customers (organization_id, lower(domain), id)`,
]
