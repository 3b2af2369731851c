import { table } from "../statements.ts"

/** Who may call: service accounts and the hashes of all tokens. */
export const access: ReadonlyArray<string> = [
  ...table(
    "service_accounts",
    "A machine user of an organization. Grows with each one that an organization creates.",
    `
    organization_id uuid NOT NULL REFERENCES organizations (id),
    id uuid NOT NULL,
    name text NOT NULL,
    slug text NOT NULL,
    external_id text,
    created_at timestamptz NOT NULL,
    created_by jsonb NOT NULL,
    PRIMARY KEY (organization_id, id),
    CONSTRAINT service_accounts_slug UNIQUE (organization_id, slug)
  `,
  ),
  // The table has two hashes of a secret, never the secret. A platform credential belongs to the platform identity and to no
  // organization. A license key is confined to one instance. A token is rotated once: `rotated_to` is its successor's slug.
  ...table(
    "credentials",
    "A token of an organization, a license key (kind instance) or a platform credential, as hashes. Grows with each one that is issued; retention deletes revoked and expired ones.",
    `
    id uuid PRIMARY KEY,
    kind text NOT NULL CHECK (kind IN ('organization', 'platform', 'instance')),
    organization_id uuid REFERENCES organizations (id),
    instance_id uuid,
    instance_slug text,
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
    expiry_told_at timestamptz,
    revoked_at timestamptz,
    revoked_by jsonb,
    rotated_at timestamptz,
    rotated_to text,
    last_used_at timestamptz,
    created_at timestamptz NOT NULL,
    created_by jsonb NOT NULL,
    CONSTRAINT credentials_slug UNIQUE NULLS NOT DISTINCT (organization_id, slug),
    CONSTRAINT credentials_kind_names_organization CHECK ((kind <> 'platform') = (organization_id IS NOT NULL)),
    CONSTRAINT credentials_platform_identity CHECK (
      kind <> 'platform' OR (owner_id = '00000000-0000-7000-8000-000000000001' AND parent_id IS NULL)
    ),
    CONSTRAINT credentials_kind_names_instance CHECK (
      (kind = 'instance') = (instance_id IS NOT NULL) AND (instance_id IS NULL) = (instance_slug IS NULL)
    )
  `,
  ),
  `CREATE INDEX credentials_owner ON credentials (organization_id, owner_id, id)`,
  `CREATE INDEX credentials_parent ON credentials (parent_id) WHERE parent_id IS NOT NULL`,
  `CREATE INDEX credentials_instance ON credentials (instance_id) WHERE instance_id IS NOT NULL`,
  // The expiry event of a token is emitted once.
  `CREATE INDEX credentials_expiry_pending ON credentials (expires_at)
    WHERE kind <> 'platform' AND revoked_at IS NULL AND expiry_told_at IS NULL`,
  // A token ends when it is revoked or expires, whichever is first.
  `CREATE INDEX credentials_retired ON credentials (kind, (least(revoked_at, expires_at)))
    WHERE revoked_at IS NOT NULL OR expires_at IS NOT NULL`,
]
