import { statements } from "./statements.ts"

export default statements(
  `CREATE TABLE organizations (
    id uuid PRIMARY KEY,
    name text NOT NULL,
    slug text NOT NULL CONSTRAINT organizations_slug UNIQUE,
    external_id text CONSTRAINT organizations_external_id UNIQUE,
    created_at timestamptz NOT NULL,
    created_by jsonb NOT NULL,
    updated_at timestamptz NOT NULL,
    updated_by jsonb NOT NULL
  )`,
  // People, and the platform identity: the only machine user outside organizations.
  `CREATE TABLE users (
    id uuid PRIMARY KEY,
    name text NOT NULL,
    email text,
    created_at timestamptz NOT NULL
  )`,
  `INSERT INTO users (id, name, created_at)
    VALUES ('00000000-0000-7000-8000-000000000001', 'system:platform', 'epoch')`,
  `CREATE TABLE service_accounts (
    organization_id uuid NOT NULL REFERENCES organizations (id),
    id uuid NOT NULL,
    name text NOT NULL,
    slug text NOT NULL,
    external_id text,
    created_at timestamptz NOT NULL,
    created_by jsonb NOT NULL,
    PRIMARY KEY (organization_id, id),
    CONSTRAINT service_accounts_slug UNIQUE (organization_id, slug)
  )`,
  // Section 5.11: an organization credential belongs to an organization. A platform credential belongs to the platform
  // identity. Section 5.12: the table stores two hashes, never the secret.
  `CREATE TABLE credentials (
    id uuid PRIMARY KEY,
    kind text NOT NULL CHECK (kind IN ('organization', 'platform')),
    organization_id uuid REFERENCES organizations (id),
    owner_id uuid NOT NULL,
    actor jsonb NOT NULL,
    parent_id uuid REFERENCES credentials (id),
    name text NOT NULL,
    slug text NOT NULL,
    scopes text[] NOT NULL,
    lookup_hash bytea NOT NULL CONSTRAINT credentials_lookup_hash UNIQUE CHECK (length(lookup_hash) = 32),
    salt bytea NOT NULL CHECK (length(salt) = 16),
    verification_hash bytea NOT NULL CHECK (length(verification_hash) = 32),
    pepper_id text NOT NULL,
    last_four text NOT NULL,
    expires_at timestamptz,
    revoked_at timestamptz,
    revoked_by jsonb,
    last_used_at timestamptz,
    created_at timestamptz NOT NULL,
    created_by jsonb NOT NULL,
    CONSTRAINT credentials_slug UNIQUE NULLS NOT DISTINCT (organization_id, slug),
    CONSTRAINT credentials_kind_names_organization CHECK ((kind = 'organization') = (organization_id IS NOT NULL)),
    CONSTRAINT credentials_platform_identity CHECK (
      kind = 'organization' OR (owner_id = '00000000-0000-7000-8000-000000000001' AND parent_id IS NULL)
    )
  )`,
  `CREATE INDEX credentials_owner ON credentials (organization_id, owner_id, id)`,
  `CREATE INDEX credentials_parent ON credentials (parent_id) WHERE parent_id IS NOT NULL`,
  `CREATE TABLE idempotency_keys (
    caller_id uuid NOT NULL,
    key text NOT NULL,
    organization_id uuid,
    fingerprint bytea NOT NULL,
    status smallint NOT NULL,
    location text,
    body text,
    secret_slug text,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (caller_id, key)
  )`,
  `CREATE INDEX idempotency_keys_expiry ON idempotency_keys (expires_at)`,
)
