import { table } from "../statements.ts"

/** Named sets of entitlements. */
export const groups: ReadonlyArray<string> = [
  ...table(
    "entitlement_groups",
    "A named set of entitlements. Grows with each group of an organization.",
    `
    organization_id uuid NOT NULL REFERENCES organizations (id),
    id uuid NOT NULL,
    slug text NOT NULL,
    name text NOT NULL,
    description text,
    created_at timestamptz NOT NULL,
    created_by jsonb NOT NULL,
    updated_at timestamptz NOT NULL,
    updated_by jsonb NOT NULL,
    PRIMARY KEY (organization_id, id),
    CONSTRAINT entitlement_groups_slug UNIQUE (organization_id, slug)
  `,
  ),
  ...table(
    "entitlement_group_members",
    "An entitlement in a group. Grows with each entitlement that is put into a group.",
    `
    organization_id uuid NOT NULL,
    entitlement_id uuid NOT NULL,
    group_id uuid NOT NULL,
    PRIMARY KEY (organization_id, entitlement_id, group_id),
    FOREIGN KEY (organization_id, entitlement_id) REFERENCES entitlements (organization_id, id) ON DELETE CASCADE,
    FOREIGN KEY (organization_id, group_id) REFERENCES entitlement_groups (organization_id, id) ON DELETE CASCADE
  `,
  ),
  `CREATE INDEX entitlement_group_members_group ON entitlement_group_members (organization_id, group_id)`,
]
