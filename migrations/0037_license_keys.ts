import { statements } from "./statements.ts"

// License keys: tokens that are confined to one instance. They are of a kind of their own, so that processes of the previous version,
// which do not know that they are confined, reject them.
export default statements(
  `ALTER TABLE credentials ADD COLUMN instance_id uuid, ADD COLUMN instance_slug text`,
  `ALTER TABLE credentials DROP CONSTRAINT credentials_kind_check,
    DROP CONSTRAINT credentials_kind_names_organization,
    DROP CONSTRAINT credentials_platform_identity`,
  `ALTER TABLE credentials
    ADD CONSTRAINT credentials_kind_check CHECK (kind IN ('organization', 'platform', 'instance')),
    ADD CONSTRAINT credentials_kind_names_organization CHECK ((kind <> 'platform') = (organization_id IS NOT NULL)),
    ADD CONSTRAINT credentials_platform_identity CHECK (
      kind <> 'platform' OR (owner_id = '00000000-0000-7000-8000-000000000001' AND parent_id IS NULL)
    ),
    ADD CONSTRAINT credentials_kind_names_instance CHECK (
      (kind = 'instance') = (instance_id IS NOT NULL) AND (instance_id IS NULL) = (instance_slug IS NULL)
    )`,
  `CREATE INDEX credentials_instance ON credentials (instance_id) WHERE instance_id IS NOT NULL`,
  // For the expiry events of both kinds of tokens.
  `CREATE INDEX credentials_expiry_pending ON credentials (expires_at)
    WHERE kind <> 'platform' AND revoked_at IS NULL AND expiry_told_at IS NULL`,
  // The service revokes the keys of an instance that it deletes, with their events. This also holds for other deletions.
  `CREATE FUNCTION instance_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    UPDATE credentials SET revoked_at = now(), revoked_by = OLD.updated_by
    WHERE instance_id = OLD.id AND revoked_at IS NULL;
    RETURN NULL;
  END $$`,
  `CREATE TRIGGER instances_deleted AFTER DELETE ON instances FOR EACH ROW EXECUTE FUNCTION instance_deleted()`,
)
