/** SQL of tokens that end by time, and of credentials that ended long ago. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Schema } from "effect"
import { inEachOrganization } from "../../../kernel/database/DueOrganizations.ts"
import { rowByKey } from "../../../kernel/database/RowsByKey.ts"
import { decoded, returnedCount } from "../../../kernel/database/Statements.ts"
import { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { AccessToken } from "../Model.ts"
import type { StoredCredential } from "../Model.ts"
import { IS_USABLE, TOKEN_COLUMNS } from "./TokensSql.ts"

/** An expired token with its organization and, unless the operator minted it, its service account or instance. */
type ExpiredToken = typeof ExpiredRow.Type & { readonly serviceAccountSlug: string | null }

const ExpiredRow = Schema.Struct({
  ...AccessToken.fields,
  organizationId: OrganizationId,
  instanceSlug: Schema.NullOr(Schema.String),
  ownerId: Schema.String,
})

const Account = Schema.Struct({ id: Schema.String, slug: Schema.String })

/** Claims expired tokens and deletes retired credentials. */
export class TokenRetentionRepo extends Context.Service<
  TokenRetentionRepo,
  {
    /**
     * Claims up to `count` expired organization tokens for their event, oldest first. Skips rows locked by other nodes.
     * The accounts are read afterwards, because a cluster keeps them elsewhere.
     */
    readonly claimExpired: (at: Date, count: number) => Effect.Effect<ReadonlyArray<ExpiredToken>>
    /**
     * Deletes credentials that ended before an instant and returns their number. A platform credential is retained as
     * long as any token that it minted, an expired token until its event was emitted.
     */
    readonly deleteRetired: (kind: StoredCredential["kind"], before: Date, count: number) => Effect.Effect<number>
  }
>()("keyshelf/access/RetentionRepo") {
  static readonly layer = Layer.suspend(() => Layer.effect(TokenRetentionRepo, make))
}

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const tokenColumns = sql.literal(TOKEN_COLUMNS)
  const isUsable = sql.literal(IS_USABLE)

  return TokenRetentionRepo.of({
    claimExpired: Effect.fnUntraced(function* (at, count) {
      const expired = yield* decoded(ExpiredRow)(sql`
        UPDATE credentials SET expiry_told_at = ${at}
        WHERE ctid = ANY (ARRAY (
          SELECT ctid FROM credentials
          WHERE kind <> 'platform' AND expires_at <= ${at} AND revoked_at IS NULL AND expiry_told_at IS NULL
            AND ${isUsable}
          ORDER BY expires_at LIMIT ${count} FOR UPDATE SKIP LOCKED))
        RETURNING ${tokenColumns}, organization_id AS "organizationId", instance_slug AS "instanceSlug",
          owner_id AS "ownerId"`)
      const accounts = yield* inEachOrganization(
        expired,
        (row) => row.organizationId,
        (organizationId, tokens) =>
          decoded(Account)(sql`
            SELECT account.id, account.slug FROM unnest(${[...new Set(tokens.map(({ ownerId }) => ownerId))]}::uuid[]) AS owner (id)
            CROSS JOIN ${rowByKey(sql, "id, slug", {
              table: "service_accounts",
              within: sql`organization_id = ${organizationId}`,
              column: "id",
              key: "owner.id",
            })} AS account`),
      )
      const owners = new Map(accounts.map(({ id, slug }) => [id, slug]))
      return expired.map((token): ExpiredToken => ({
        ...token,
        serviceAccountSlug: owners.get(token.ownerId) ?? null,
      }))
    }),

    deleteRetired: (kind, before, count) =>
      returnedCount(sql`
        DELETE FROM credentials WHERE ctid = ANY (ARRAY (
          SELECT ctid FROM credentials retired
          WHERE kind = ${kind} AND least(revoked_at, expires_at) <= ${before}
            AND (revoked_at IS NOT NULL OR expires_at IS NOT NULL)
            AND (kind = 'platform' OR revoked_at IS NOT NULL OR expiry_told_at IS NOT NULL)
            AND NOT EXISTS (SELECT 1 FROM credentials child WHERE child.parent_id = retired.id)
          ORDER BY least(revoked_at, expires_at) LIMIT ${count} FOR UPDATE SKIP LOCKED)) RETURNING id`),
  })
})
