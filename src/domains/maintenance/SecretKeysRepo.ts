/** SQL statements about secret keys: their check values, and the stored values that need them. */
import type { SqlError } from "effect/sql/SqlError"
import { Context, Effect, Layer, Schema, Struct } from "effect"
import type { Option } from "effect"
import { SqlClient } from "effect/sql"
import {
  decoded,
  decodedColumn,
  decodedOne,
  decodedOrFailed,
  returnedRow,
  sqlStateOf,
} from "../../kernel/database/Statements.ts"
import type { SealContext } from "../../kernel/ports/SecretBox.ts"
import { OrganizationId } from "../../kernel/values/Identifiers.ts"
import { StoredCredential } from "../access/Model.ts"
import { haveCredentials, tokenHashes, tokensByPepper } from "../access/tokens/TokensSql.ts"
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
      readonly place: (organizationId: OrganizationId, boundTo: string) => SealContext
    }
  >
> = {
  connector_settings: { what: "connector settings", boundBy: "connector_name", place: settingsSealContext },
  signing_keys: { what: "signing keys", boundBy: "kid", place: signingKeyPlace },
  webhook_secrets: { what: "webhook secrets", boundBy: "endpoint_id", place: secretPlace },
}

/** How many stored values of a kind need a key. */
const KeyUse = Schema.Struct({ what: Schema.String, key: Schema.String, count: Schema.Int })
export type KeyUse = typeof KeyUse.Type

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
const CheckValue = Schema.Struct({ id: Schema.String, value: Schema.Uint8Array })
type CheckValue = typeof CheckValue.Type

/** A sealed value as its table has it. */
const SealedRow = Schema.Struct({ organizationId: OrganizationId, boundTo: Schema.String, sealed: Schema.String })

/** The hashes by which a token is verified. */
const VerifiedHashes = StoredCredential.mapFields(Struct.pick(["salt", "verificationHash", "pepperId"]))

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
    readonly findToken: (lookupHash: string) => Effect.Effect<Option.Option<typeof VerifiedHashes.Type>>
  }
>()("keyshelf/maintenance/SecretKeysRepo") {
  static readonly layer = Layer.suspend(() => Layer.effect(SecretKeysRepo, make))
}

const namesIn = decodedColumn("name", Schema.String)

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // Every column named "sealed" contains values of the form v1.<key id>.<nonce>.<text>.
  const tablesWithSealed = namesIn(sql`
    SELECT table_name AS name FROM information_schema.columns
    WHERE table_schema = current_schema() AND column_name = 'sealed' ORDER BY table_name`)

  const hasTokens = returnedRow(sql`SELECT 1 WHERE ${sql.literal(haveCredentials)}`)

  return SecretKeysRepo.of({
    checks: decodedOrFailed(CheckValue)(
      sql`SELECT key_id AS id, check_value AS value FROM secret_key_checks ORDER BY key_id`,
    ).pipe(
      Effect.catchIf(
        ({ reason }) => sqlStateOf(reason) === UNDEFINED_TABLE,
        () => Effect.succeed([]),
      ),
    ),

    storeChecks: (checks, at) =>
      Effect.forEach(
        checks,
        ({ id, value }) => sql`
          INSERT INTO secret_key_checks (key_id, check_value, first_used_at) VALUES (${id}, ${value}, ${at})
          ON CONFLICT (key_id) DO NOTHING`,
        { discard: true },
      ),

    uses: Effect.fnUntraced(function* (at) {
      if (!(yield* hasTokens)) return []
      const tokens = yield* decoded(KeyUse)(sql`${tokensByPepper(sql, at)}`)
      const sealed: Array<KeyUse> = []
      for (const name of yield* tablesWithSealed) {
        sealed.push(
          ...(yield* decoded(KeyUse)(sql`
            SELECT ${name}::text AS what, split_part(sealed, '.', 2) AS key, count(*)::int AS count FROM ${sql(name)}
            WHERE sealed IS NOT NULL GROUP BY 2`)),
        )
      }
      return [...tokens, ...sealed]
    }),

    sealedWith: Effect.fnUntraced(function* (key, count) {
      const found: Array<SealedKind> = []
      for (const name of yield* tablesWithSealed) {
        const kind = sealedTables[name]
        if (kind === undefined) continue
        const rows = yield* decoded(SealedRow)(sql`
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

    findToken: (lookupHash) => decodedOne(VerifiedHashes)(sql`${tokenHashes(sql, Buffer.from(lookupHash, "hex"))}`),
  })
})
