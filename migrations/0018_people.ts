import { statements } from "./statements.ts"

export default statements(
  // A person signs in as a subject of an issuer. The platform identity has neither.
  `ALTER TABLE users
    ADD COLUMN issuer text,
    ADD COLUMN subject text,
    ADD COLUMN created_by jsonb,
    ADD CONSTRAINT users_identity_is_whole CHECK ((issuer IS NULL) = (subject IS NULL)),
    ADD CONSTRAINT users_identity UNIQUE (issuer, subject)`,
  // Removed memberships are retained as a record of former members.
  `CREATE TABLE memberships (
    organization_id uuid NOT NULL REFERENCES organizations (id),
    id uuid NOT NULL,
    user_id uuid NOT NULL REFERENCES users (id),
    role text NOT NULL CHECK (role IN ('ADMIN', 'MEMBER', 'VIEWER')),
    created_at timestamptz NOT NULL,
    created_by jsonb NOT NULL,
    removed_at timestamptz,
    removed_by jsonb,
    PRIMARY KEY (organization_id, id)
  )`,
  `CREATE UNIQUE INDEX memberships_current ON memberships (organization_id, user_id) WHERE removed_at IS NULL`,
  `CREATE INDEX memberships_user ON memberships (user_id, organization_id)`,
)
