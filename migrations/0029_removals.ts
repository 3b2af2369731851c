import { statements } from "./statements.ts"

// A removed organization answers like one that does not exist, while the sweeper deletes its rows. Its own row goes last.
// A removed person stays, because former memberships show the name, and so that the identity cannot return by itself.
export default statements(
  `ALTER TABLE organizations ADD COLUMN removed_at timestamptz, ADD COLUMN removed_by jsonb`,
  // Every look-up of a credential asks whether its organization is removed. The index is nearly always empty.
  `CREATE INDEX organizations_removed ON organizations (id) WHERE removed_at IS NOT NULL`,
  `ALTER TABLE users ADD COLUMN removed_at timestamptz, ADD COLUMN removed_by jsonb`,
)
