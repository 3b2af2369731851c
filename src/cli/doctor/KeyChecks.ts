/**
 * Checks the secret keys: whether each needed key is configured, whether it is correct, and which old ones are still
 * needed.
 */
import { Clock, Effect, Exit, Layer, Option, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { TokenHasher } from "../../domains/access/tokens/TokenHasher.ts"
import { settingsSealContext } from "../../domains/connectors/settings/ConnectorSettings.ts"
import { SecretBox } from "../../kernel/ports/SecretBox.ts"
import type { SealContext } from "../../kernel/ports/SecretBox.ts"
import * as SecretBoxes from "../../infra/SecretBox.ts"
import * as KeyRing from "../../infra/KeyRing.ts"
import { Settings } from "../../infra/Settings.ts"
import type { SecretKey } from "../../infra/Settings.ts"
import { secretPlace } from "../../domains/webhooks/endpoints/SigningSecrets.ts"
import { failed, ok } from "./Report.ts"
import type { Check, Finding } from "./Report.ts"

/**
 * The maximum number of values to open per kind and key. It finds a key that was changed, and is fast on any database.
 */
const MAX_OPENED = 1_000

/** For each table with sealed values: their name in the report, and what they are bound to. */
const sealedTables: Readonly<
  Record<string, { readonly what: string; readonly boundBy: string; readonly place: typeof secretPlace }>
> = {
  connector_settings: { what: "connector settings", boundBy: "connector_name", place: settingsSealContext },
  webhook_secrets: { what: "webhook secrets", boundBy: "endpoint_id", place: secretPlace },
}

/** The configured keys; the first one encrypts. It does not create the key file. */
const configuredKeys = Effect.gen(function* () {
  const settings = yield* Settings
  if (Option.isSome(settings.secretKeys)) return { source: "SERVICE_SECRET_KEY", keys: settings.secretKeys.value }
  const source = join(settings.dataDir, "secret-key")
  const text = yield* Effect.promise(() => readFile(source, "utf8").catch(() => undefined))
  const bytes = Buffer.from(text?.trim() ?? "", "base64")
  const keys: ReadonlyArray<SecretKey> =
    bytes.length === 32 ? [{ id: "default", bytes: Redacted.make(new Uint8Array(bytes)) }] : []
  return { source, keys }
})

interface KeyUse {
  readonly what: string
  readonly key: string
  readonly count: number
}

// Every column named "sealed" contains values of the form v1.<key id>.<nonce>.<text>.
const tablesWithSealed = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const tables = yield* sql<{ name: string }>`
    SELECT table_name AS name FROM information_schema.columns
    WHERE table_schema = current_schema() AND column_name = 'sealed' ORDER BY table_name`
  return tables.map(({ name }) => name)
})

const hasTokens = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [present] = yield* sql<{ found: boolean }>`SELECT to_regclass('credentials') IS NOT NULL AS found`
  return present?.found === true
})

const usedKeys = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  if (!(yield* hasTokens)) return []
  const at = new Date(yield* Clock.currentTimeMillis)
  const tokens = yield* sql<KeyUse>`
    SELECT 'tokens' AS what, pepper_id AS key, count(*)::int AS count FROM credentials
    WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ${at}) GROUP BY pepper_id`
  const sealed: Array<KeyUse> = []
  for (const name of yield* tablesWithSealed) {
    sealed.push(
      ...(yield* sql<KeyUse>`
        SELECT ${name}::text AS what, split_part(sealed, '.', 2) AS key, count(*)::int AS count FROM ${sql(name)}
        GROUP BY 2`),
    )
  }
  return [...tokens, ...sealed]
})

/** How many of the tried values a key opened. */
interface Opening {
  readonly what: string
  readonly key: string
  readonly tried: number
  readonly opened: number
}

const openable = (place: SealContext, sealed: string) =>
  Effect.flatMap(SecretBox, (box) => Effect.exit(box.open(place, sealed))).pipe(Effect.map(Exit.isSuccess))

const openings = Effect.fnUntraced(function* (uses: ReadonlyArray<KeyUse>) {
  const sql = yield* SqlClient.SqlClient
  const found: Array<Opening> = []
  for (const { key, what: table } of uses) {
    const kind = sealedTables[table]
    if (kind === undefined) continue
    const rows = yield* sql<{ organizationId: string; boundTo: string; sealed: string }>`
      SELECT organization_id AS "organizationId", ${sql(kind.boundBy)}::text AS "boundTo", sealed FROM ${sql(table)}
      WHERE split_part(sealed, '.', 2) = ${key} LIMIT ${MAX_OPENED}`
    const results = yield* Effect.forEach(rows, (row) =>
      openable(kind.place(row.organizationId, row.boundTo), row.sealed),
    )
    found.push({ what: kind.what, key, tried: rows.length, opened: results.filter((opened) => opened).length })
  }
  return found
})

// The only token whose text is known here.
const bootstrapToken = Effect.gen(function* () {
  const { bootstrapPlatformCredential: token } = yield* Settings
  if (Option.isNone(token) || !(yield* hasTokens)) return []
  const sql = yield* SqlClient.SqlClient
  const hasher = yield* TokenHasher
  const [row] = yield* sql<{ salt: Uint8Array; verificationHash: Uint8Array; pepperId: string }>`
    SELECT salt, verification_hash AS "verificationHash", pepper_id AS "pepperId" FROM credentials
    WHERE lookup_hash = ${Buffer.from(hasher.lookupHash(token.value), "hex")}`
  if (row === undefined) return []
  const opening: Opening = {
    what: "tokens (the one of SERVICE_BOOTSTRAP_PLATFORM_CREDENTIAL)",
    key: row.pepperId,
    tried: 1,
    opened: hasher.verify(token.value, row) ? 1 : 0,
  }
  return [opening]
})

// An id does not prove that the key is correct: its 32 bytes may have been replaced. So stored values are opened with
// it.
const openingFindings = Effect.fnUntraced(function* (
  configured: ReadonlyArray<SecretKey>,
  source: string,
  uses: ReadonlyArray<KeyUse>,
) {
  const available = uses.filter((use) => configured.some(({ id }) => id === use.key))
  const tried = yield* Effect.all([openings(available), bootstrapToken]).pipe(
    Effect.map((results) => results.flat().filter(({ key }) => configured.some(({ id }) => id === key))),
    Effect.provide(
      Layer.merge(SecretBoxes.layer, TokenHasher.layer).pipe(Layer.provide(KeyRing.layerFrom(configured))),
    ),
  )
  return [...new Set(available.map(({ key }) => key))].map((key): Finding => {
    const ofKey = tried.filter((opening) => opening.key === key)
    const wrong = ofKey.filter(({ opened, tried: count }) => opened < count)
    if (wrong.length > 0) {
      const what = wrong.map((each) => `${each.tried - each.opened} of ${each.tried} ${each.what}`).join(", ")
      return failed(
        "keys",
        `The key "${key}" of ${source} does not open ${what}: they were stored with a different key under this id, or they were altered. Restore the previous key; add a new key before it, with a new id.`,
      )
    }
    return ofKey.length > 0
      ? ok("keys", `The key "${key}" opens ${ofKey.map((each) => `${each.opened} ${each.what}`).join(", ")}`)
      : ok(
          "keys",
          `The key "${key}" cannot be checked: ${listed(uses.filter((use) => use.key === key))} use it, but no webhook secrets or connector settings are encrypted with it`,
        )
  })
})

const listed = (uses: ReadonlyArray<KeyUse>) => uses.map(({ count, what }) => `${count} ${what}`).join(", ")

/**
 * Checks that every key of stored tokens and secrets is configured and opens them, and lists which old keys are still
 * needed.
 */
export const keys: Check<SqlClient.SqlClient | Settings> = Effect.gen(function* () {
  const { keys: configured, source } = yield* configuredKeys
  const uses = yield* usedKeys
  const [current, ...old] = configured
  if (current === undefined) {
    return uses.length === 0
      ? [ok("keys", "There is no key yet, and nothing needs one: the first start creates it")]
      : [failed("keys", "There is no secret key, but stored tokens and secrets need one. Restore it from a backup.")]
  }
  const findings: Array<Finding> = [ok("keys", `The key "${current.id}" hashes and encrypts`)]
  for (const key of new Set(uses.map((use) => use.key))) {
    const usesOfKey = uses.filter((use) => use.key === key)
    if (!configured.some(({ id }) => id === key)) {
      findings.push(
        failed(
          "keys",
          `The key "${key}" is missing, and ${listed(usesOfKey)} need it. Add it to SERVICE_SECRET_KEY again.`,
        ),
      )
    } else if (key !== current.id) {
      findings.push(ok("keys", `The old key "${key}" is still needed by ${listed(usesOfKey)}`))
    }
  }
  for (const { id } of old.filter((key) => !uses.some((use) => use.key === key.id))) {
    findings.push(ok("keys", `The old key "${id}" is no longer needed and can be removed`))
  }
  return [...findings, ...(yield* openingFindings(configured, source, uses))]
}).pipe(Effect.orDie)
