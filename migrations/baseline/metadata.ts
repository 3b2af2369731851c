import { table } from "../statements.ts"

/** Fields that an organization adds to its records. */
export const metadata: ReadonlyArray<string> = [
  // The schema is stored as json, not jsonb, to preserve the order of its properties.
  ...table(
    "metadata_fields",
    "A field that an organization adds to its zones or instances. Grows with each field; archived ones stay.",
    `
    organization_id uuid NOT NULL REFERENCES organizations (id),
    id uuid NOT NULL,
    key text NOT NULL,
    label text NOT NULL,
    resource_type text NOT NULL CHECK (resource_type IN ('DEPLOYMENT_ZONE', 'INSTANCE')),
    json_schema json NOT NULL,
    display_order integer NOT NULL,
    archived_at timestamptz,
    created_at timestamptz NOT NULL,
    created_by jsonb NOT NULL,
    updated_at timestamptz NOT NULL,
    updated_by jsonb NOT NULL,
    PRIMARY KEY (organization_id, id)
  `,
  ),
  `CREATE INDEX metadata_fields_order ON metadata_fields (organization_id, display_order, id)`,
  `CREATE UNIQUE INDEX metadata_fields_active_key ON metadata_fields (organization_id, resource_type, key)
    WHERE archived_at IS NULL`,
  `CREATE INDEX metadata_fields_key ON metadata_fields (organization_id, resource_type, key)`,
]
