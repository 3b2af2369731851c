import { statements } from "./statements.ts"

// Names as the filter `q` compares them: in NFKC, in lower case, with one sigma, and `ß` as `ss`. A name of ASCII needs none of
// this but lower case. The other form may be longer than the name, so that it is cut off: an entry of an index has a limit.
const FOLDED = `(CASE WHEN octet_length(name) = length(name) THEN lower(name)
  ELSE left(replace(replace(lower(normalize(name, NFKC)), 'ς', 'σ'), 'ß', 'ss'), 255) END)`

/** Serves the filter `q`, as `_name_prefix` does for processes of the release before. */
const foldedName = (table: string, position = "id") =>
  `CREATE INDEX IF NOT EXISTS ${table}_name_folded ON ${table} (organization_id, (${FOLDED} COLLATE "C"), ${position})
    INCLUDE (name)`

export default statements(
  foldedName("customers"),
  foldedName("instances"),
  foldedName("entitlements", "display_order, id"),
  foldedName("licenses"),
  foldedName("deployment_zones"),
)
