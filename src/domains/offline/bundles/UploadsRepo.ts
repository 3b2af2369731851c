/** SQL of bundles by which sites may still bring usage. */
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer } from "effect"
import { returnedRow } from "../../../kernel/database/Statements.ts"
import { SiteUploads } from "../../usage/partitions/SiteUploads.ts"

/** Provides the uploads to `usage`. */
export const layer = Layer.effect(
  SiteUploads,
  Effect.map(PgClient.PgClient, (sql) => ({
    areAwaited: (until: Date, at: Date) =>
      returnedRow(sql`
        SELECT 1 FROM offline_bundles
        WHERE usage_until > ${at} AND issued_at < ${until}::timestamptz + interval '5 minutes' LIMIT 1`),
  })),
)
