/** The record of a migration, from its row. Pure. */
import type { LicenseMigration } from "./Model.ts"
import type { MigrationRow } from "./Repo.ts"

export const migrationOf = ({
  at,
  counts,
  createdAt,
  createdBy,
  finishedAt,
  from,
  id,
  state,
  to,
}: MigrationRow): LicenseMigration => ({ id, from, to, state, at, counts, createdAt, createdBy, finishedAt })
