import { table } from "../statements.ts"

/** People, and in which organizations they are. */
export const people: ReadonlyArray<string> = [
  // A removed person stays, because former memberships show the name, and so that the identity cannot return by itself.
  ...table(
    "users",
    "A person, who signs in as a subject of an issuer, and the platform identity, which has neither. Grows with each person who is a member of an organization for the first time.",
    `
    id uuid PRIMARY KEY,
    name text NOT NULL,
    email text,
    issuer text,
    subject text,
    created_at timestamptz NOT NULL,
    created_by jsonb,
    removed_at timestamptz,
    removed_by jsonb,
    CONSTRAINT users_identity_is_whole CHECK ((issuer IS NULL) = (subject IS NULL)),
    CONSTRAINT users_identity UNIQUE (issuer, subject)
  `,
  ),
  `INSERT INTO users (id, name, created_at)
    VALUES ('00000000-0000-7000-8000-000000000001', 'system:platform', 'epoch')`,
  ...table(
    "memberships",
    "A person in an organization, with a role. Grows with each membership; removed ones stay as a record of former members.",
    `
    organization_id uuid NOT NULL REFERENCES organizations (id),
    id uuid NOT NULL,
    user_id uuid NOT NULL REFERENCES users (id),
    role text NOT NULL CHECK (role IN ('ADMIN', 'MEMBER', 'VIEWER')),
    created_at timestamptz NOT NULL,
    created_by jsonb NOT NULL,
    removed_at timestamptz,
    removed_by jsonb,
    PRIMARY KEY (organization_id, id)
  `,
  ),
  `CREATE UNIQUE INDEX memberships_current ON memberships (organization_id, user_id) WHERE removed_at IS NULL`,
  `CREATE INDEX memberships_user ON memberships (user_id, organization_id)`,
]
