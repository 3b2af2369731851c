import { statements } from "./statements.ts"

export default statements(
  // A token is rotated once: the row stores the time and the successor's slug. Its expiry event is emitted once.
  `ALTER TABLE credentials
    ADD COLUMN rotated_at timestamptz,
    ADD COLUMN rotated_to text,
    ADD COLUMN expiry_told_at timestamptz`,
  `CREATE INDEX credentials_expiry_untold ON credentials (expires_at)
    WHERE kind = 'organization' AND expires_at IS NOT NULL AND revoked_at IS NULL AND expiry_told_at IS NULL`,
  // A token ends when it is revoked or expires, whichever is first.
  `CREATE INDEX credentials_retired ON credentials (kind, (least(revoked_at, expires_at)))
    WHERE revoked_at IS NOT NULL OR expires_at IS NOT NULL`,
  `CREATE INDEX webhook_secrets_expiry ON webhook_secrets (expires_at) WHERE expires_at IS NOT NULL`,
)
