/** SQL statements about secret keys: their check values, and the stored values that need them. */
import type { SqlError } from "effect/sql/SqlError"
import { Context, Effect, Layer } from "effect"
import type { Option } from "effect"
import { SqlClient } from "effect/sql"
import { record, records, sqlStateOf } from "../../kernel/database/Statements.ts"
import type { SealContext } from "../../kernel/ports/SecretBox.ts"
import type { TokenHashes } from "../access/Model.ts"
import { settingsSealContext } from "../connectors/settings/ConnectorSettings.ts"
import { signingKeyPlace } from "../signing/Signer.ts"
import { secretPlace } from "../webhooks/endpoints/SigningSecrets.ts"

const UNDEFINED_TABLE = "42P01"

/** For each table with sealed values: their name in reports, and what they are bound to. */
const sealedTables: Readonly<
  Record<
    string,
    {
      readonly what: string
      readonly boundBy: string
      readonly place: (organizationId: string, boundTo: string) => SealContext
    }
  >
> = {
  connector_settings: { what: "connector settings", boundBy: "connector_name", place: settingsSealContext },
  signing_keys: { what: "signing keys", boundBy: "kid", place: signingKeyPlace },
  webhook_secrets: { what: "webhook secrets", boundBy: "endpoint_id", place: secretPlace },
}

/** How many stored values of a kind need a key. */
export interface KeyUse {
  readonly what: string
  readonly key: string
  readonly count: number
}

/** A sealed value and the context that opens it. */
interface SealedValue {
  readonly place: SealContext
  readonly sealed: string
}

/** The sealed values of a table, under its name in reports. */
interface SealedKind {
  readonly what: string
  readonly values: ReadonlyArray<SealedValue>
}

/** What a key made of a fixed text: another key under the same id makes another one. */
interface CheckValue {
  readonly id: string
  readonly value: Uint8Array
}

/** Reads and stores what the database knows about secret keys. */
export class SecretKeysRepo extends Context.Service<
  SecretKeysRepo,
  {
    /** Reads the stored check values. A database that is not migrated yet has none. */
    readonly checks: Effect.Effect<ReadonlyArray<CheckValue>, SqlError>
    /** Stores check values. A value that another process stored before stays. */
    readonly storeChecks: (checks: ReadonlyArray<CheckValue>, at: Date) => Effect.Effect<void, SqlError>
    /** Counts the stored values that need each key, without tokens that no longer work. */
    readonly uses: (at: Date) => Effect.Effect<ReadonlyArray<KeyUse>>
    /** Reads up to `count` values per kind that a key sealed. */
    readonly sealedWith: (key: string, count: number) => Effect.Effect<ReadonlyArray<SealedKind>>
    /** Reads the hashes of the token with this look-up hash, in hexadecimal. */
    readonly findToken: (
      lookupHash: string,
    ) => Effect.Effect<Option.Option<Pick<TokenHashes, "salt" | "verificationHash" | "pepperId">>>
  }
>()("keyshelf/maintenance/SecretKeysRepo") {
  static readonly layer = Layer.effect(
    SecretKeysRepo,
    Effect.suspend(() => make),
  )
}

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // Every column named "sealed" contains values of the form v1.<key id>.<nonce>.<text>.
  const tablesWithSealed = records<{ name: string }>()(sql`
    SELECT table_name AS name FROM information_schema.columns
    WHERE table_schema = current_schema() AND column_name = 'sealed' ORDER BY table_name`)

  const hasTokens = Effect.map(
    records<{ found: boolean }>()(sql`SELECT to_regclass('credentials') IS NOT NULL AS found`),
    ([row]) => row?.found === true,
  )

  return {
    checks: sql<CheckValue>`
      SELECT key_id AS id, check_value AS value FROM secret_key_checks ORDER BY key_id`.pipe(
      Effect.catchIf(
        ({ reason }) => sqlStateOf(reason) === UNDEFINED_TABLE,
        () => Effect.succeed([]),
      ),
    ),

    storeChecks: (checks: ReadonlyArray<CheckValue>, at: Date) =>
      Effect.forEach(
        checks,
        ({ id, value }) => sql`
          INSERT INTO secret_key_checks (key_id, check_value, first_used_at) VALUES (${id}, ${value}, ${at})
          ON CONFLICT (key_id) DO NOTHING`,
        { discard: true },
      ),

    uses: Effect.fnUntraced(function* (at: Date) {
      if (!(yield* hasTokens)) return []
      const tokens = yield* records<KeyUse>()(sql`
        SELECT 'tokens' AS what, pepper_id AS key, count(*)::int AS count FROM credentials
        WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ${at}) GROUP BY pepper_id`)
      const sealed: Array<KeyUse> = []
      for (const { name } of yield* tablesWithSealed) {
        sealed.push(
          ...(yield* records<KeyUse>()(sql`
            SELECT ${name}::text AS what, split_part(sealed, '.', 2) AS key, count(*)::int AS count FROM ${sql(name)}
            WHERE sealed IS NOT NULL GROUP BY 2`)),
        )
      }
      return [...tokens, ...sealed]
    }),

    sealedWith: Effect.fnUntraced(function* (key: string, count: number) {
      const found: Array<SealedKind> = []
      for (const { name } of yield* tablesWithSealed) {
        const kind = sealedTables[name]
        if (kind === undefined) continue
        const rows = yield* records<{ organizationId: string; boundTo: string; sealed: string }>()(sql`
          SELECT organization_id AS "organizationId", ${sql(kind.boundBy)}::text AS "boundTo", sealed FROM ${sql(name)}
          WHERE split_part(sealed, '.', 2) = ${key} LIMIT ${count}`)
        found.push({
          what: kind.what,
          values: rows.map(({ boundTo, organizationId, sealed }) => ({
            place: kind.place(organizationId, boundTo),
            sealed,
          })),
        })
      }
      return found
    }),

    findToken: (lookupHash: string) =>
      record<Pick<TokenHashes, "salt" | "verificationHash" | "pepperId">>()(sql`
        SELECT salt, verification_hash AS "verificationHash", pepper_id AS "pepperId" FROM credentials
        WHERE lookup_hash = ${Buffer.from(lookupHash, "hex")}`),
  }
})
