import { table } from "../statements.ts"

/** Which records of other systems belong to customers and instances. */
export const integrations: ReadonlyArray<string> = [
  // A record belongs to a customer or an instance and is deleted with it, by foreign keys on the generated columns.
  ...table(
    "integration_records",
    "The record that a customer or an instance has in another system. Grows with each customer and instance that a connector synchronizes.",
    `
    organization_id uuid NOT NULL REFERENCES organizations (id),
    id uuid NOT NULL,
    kind text NOT NULL CHECK (kind IN ('CUSTOMER', 'INSTANCE')),
    resource_id uuid NOT NULL,
    customer_id uuid GENERATED ALWAYS AS (CASE WHEN kind = 'CUSTOMER' THEN resource_id END) STORED,
    instance_id uuid GENERATED ALWAYS AS (CASE WHEN kind = 'INSTANCE' THEN resource_id END) STORED,
    connector text NOT NULL,
    external_id text NOT NULL,
    web_url text,
    metadata jsonb NOT NULL,
    last_error text,
    synced_at timestamptz,
    created_at timestamptz NOT NULL,
    created_by jsonb NOT NULL,
    updated_at timestamptz NOT NULL,
    updated_by jsonb NOT NULL,
    PRIMARY KEY (organization_id, kind, resource_id, connector),
    CONSTRAINT integration_records_external_id UNIQUE (organization_id, connector, kind, external_id),
    FOREIGN KEY (organization_id, customer_id) REFERENCES customers (organization_id, id) ON DELETE CASCADE,
    FOREIGN KEY (organization_id, instance_id) REFERENCES instances (organization_id, id) ON DELETE CASCADE
  `,
  ),
  `CREATE INDEX integration_records_customer ON integration_records (organization_id, customer_id)
    WHERE customer_id IS NOT NULL`,
  `CREATE INDEX integration_records_instance ON integration_records (organization_id, instance_id)
    WHERE instance_id IS NOT NULL`,
]
