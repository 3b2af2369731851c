/**
 * All migrations, in order. The first one is the baseline: each table once, in its final form, in a file per domain. Later ones only
 * expand, one topic each. The SQL of a released migration never changes. Append new migrations: the migrator skips ids below the
 * newest one in the database.
 */
import type { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import baseline from "./0001_baseline.ts"
import licenseAway from "./0002_license_away.ts"
import tranches from "./0003_tranches.ts"
import addOns from "./0004_add_ons.ts"
import eventOwners from "./0005_event_owners.ts"
import searchWords from "./0006_search_words.ts"
import credits from "./0007_credits.ts"
import releaseAccess from "./0008_release_access.ts"
import pausedEndpoints from "./0009_paused_endpoints.ts"
import graceEnds from "./0010_grace_ends.ts"

export const migrations: Record<string, Effect.Effect<void, SqlError, SqlClient.SqlClient>> = {
  "0001_baseline": baseline,
  "0002_license_away": licenseAway,
  "0003_tranches": tranches,
  "0004_add_ons": addOns,
  "0005_event_owners": eventOwners,
  "0006_search_words": searchWords,
  "0007_credits": credits,
  "0008_release_access": releaseAccess,
  "0009_paused_endpoints": pausedEndpoints,
  "0010_grace_ends": graceEnds,
}
