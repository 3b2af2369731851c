import type { Impact } from "./impact.ts"
import { concurrently, indexUnlessBuilt, statements } from "./statements.ts"

// As in the baseline, and as `src/kernel/database/Pages.ts` compares names.
const folded = (name: string): string => `(CASE WHEN octet_length(${name}) = length(${name}) THEN lower(${name})
  ELSE left(replace(replace(lower(normalize(${name}, NFKC)), 'ς', 'σ'), 'ß', 'ss'), 255) END)`

/** What separates words. */
const SEPARATORS = `E'\\t\\n\\r!"#$%&''()*+,-./:;<=>?@[\\\\]^_\`{|}~\\u2010\\u2011\\u2013\\u2014\\u00b7\\u3001\\u3002'`

const spaced = (name: string): string =>
  `translate(' ' || ${folded(name)} || ' ' || slug, ${SEPARATORS}, repeat(' ', length(${SEPARATORS})))`

/**
 * The index of the filter `q`: the words of the name and the slug, each after the end of the organization's id, so that the words of one
 * organization are a range of their own. Few entries wait to be merged, because each search reads them. Nodes of the release before search by
 * the indexes of the baseline, which stay.
 */
export const wordIndex = (table: string, name = "name"): string => `${table} USING gin (
    (array_to_tsvector(array_remove(string_to_array(replace(${spaced(name)}, ' ', ' ' || right(organization_id::text, 12)), ' '), '')))
  ) WITH (fastupdate = on, gin_pending_list_limit = 64)`

const SEARCHED = ["customers", "instances", "licenses", "entitlements", "deployment_zones"]

/** Finds records by the beginnings of all their words. */
export default statements(...SEARCHED.flatMap((table) => indexUnlessBuilt(`${table}_words`, wordIndex(table))))

export const impact: Impact = {
  locks: SEARCHED.map((table) => ({ table, mode: "SHARE" })),
  reads: SEARCHED,
  millisecondsPerMillionRows: 27_000,
  // The others are small.
  before: ["customers", "instances"].map((table) => concurrently(`${table}_words`, wordIndex(table))),
}
