/** The installation's keys: whether they are held, whether they are the right ones, and which old ones are still needed. */
import { Clock, Effect, Exit, Layer, Option, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { TokenHasher } from "../../domains/access/tokens/TokenHasher.ts"
import { settingsPlace } from "../../domains/connectors/settings/ConnectorSettings.ts"
import { SecretBox } from "../../kernel/ports/SecretBox.ts"
import type { SealedPlace } from "../../kernel/ports/SecretBox.ts"
import * as SecretBoxes from "../../infra/SecretBox.ts"
import * as Secrets from "../../infra/KeyRing.ts"
import { Settings } from "../../infra/Settings.ts"
import type { SecretKey } from "../../infra/Settings.ts"
import { secretPlace } from "../../domains/webhooks/endpoints/SigningSecrets.ts"
import { failed, ok } from "./Report.ts"
import type { Check, Finding } from "./Report.ts"

/** Values of one kind and key that are opened. Enough to find a key that was changed at some time; quick on any database. */
const OPENED = 1_000

/** What sealed values of a table are bound to, and what they are called. */
const sealedTables: Readonly<
  Record<string, { readonly what: string; readonly boundBy: string; readonly place: typeof secretPlace }>
> = {
  connector_settings: { what: "connector settings", boundBy: "connector_name", place: settingsPlace },
  webhook_secrets: { what: "webhook secrets", boundBy: "endpoint_id", place: secretPlace },
}

/** The keys that this installation holds, first the one that encrypts. Does not make the key file. */
const heldKeys = Effect.gen(function* () {
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

// Whatever a table keeps in a column "sealed" was sealed as v1.<key id>.<nonce>.<text>.
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

/** How many of some stored values a key opened. */
interface Opening {
  readonly what: string
  readonly key: string
  readonly tried: number
  readonly opened: number
}

const openable = (place: SealedPlace, sealed: string) =>
  Effect.flatMap(SecretBox, (box) => Effect.exit(box.open(place, sealed))).pipe(Effect.map(Exit.isSuccess))

const openings = Effect.fnUntraced(function* (uses: ReadonlyArray<KeyUse>) {
  const sql = yield* SqlClient.SqlClient
  const found: Array<Opening> = []
  for (const { key, what: table } of uses) {
    const kind = sealedTables[table]
    if (kind === undefined) continue
    const rows = yield* sql<{ organizationId: string; boundTo: string; sealed: string }>`
      SELECT organization_id AS "organizationId", ${sql(kind.boundBy)}::text AS "boundTo", sealed FROM ${sql(table)}
      WHERE split_part(sealed, '.', 2) = ${key} LIMIT ${OPENED}`
    const results = yield* Effect.forEach(rows, (row) =>
      openable(kind.place(row.organizationId, row.boundTo), row.sealed),
    )
    found.push({ what: kind.what, key, tried: rows.length, opened: results.filter((opened) => opened).length })
  }
  return found
})

// The one token whose text is known here.
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

// An id says little about a key: another 32 bytes may stand under it.
const bytes = Effect.fnUntraced(function* (
  held: ReadonlyArray<SecretKey>,
  source: string,
  uses: ReadonlyArray<KeyUse>,
) {
  const ofHeld = uses.filter((use) => held.some(({ id }) => id === use.key))
  const tried = yield* Effect.all([openings(ofHeld), bootstrapToken]).pipe(
    Effect.map((results) => results.flat().filter(({ key }) => held.some(({ id }) => id === key))),
    Effect.provide(Layer.merge(SecretBoxes.layer, TokenHasher.layer).pipe(Layer.provide(Secrets.layerFrom(held)))),
  )
  return [...new Set(ofHeld.map(({ key }) => key))].map((key): Finding => {
    const those = tried.filter((opening) => opening.key === key)
    const wrong = those.filter(({ opened, tried: count }) => opened < count)
    if (wrong.length > 0) {
      const what = wrong.map((each) => `${each.tried - each.opened} of ${each.tried} ${each.what}`).join(", ")
      return failed(
        "keys",
        `The key "${key}" of ${source} does not open ${what}: other bytes stood under this id when they were stored, or they were altered. Put the former bytes back; a new key goes in front of them under an id of its own.`,
      )
    }
    return those.length > 0
      ? ok("keys", `The key "${key}" opens ${those.map((each) => `${each.opened} ${each.what}`).join(", ")}`)
      : ok(
          "keys",
          `Whether the key "${key}" is the one that ${listed(uses.filter((use) => use.key === key))} were stored with cannot be checked: no webhook secret and no connector settings are sealed with it`,
        )
  })
})

const listed = (uses: ReadonlyArray<KeyUse>) => uses.map(({ count, what }) => `${count} ${what}`).join(", ")

/**
 * Whether every key that stored tokens and secrets need is held and opens them, and which old ones are still needed.
 */
export const keys: Check<SqlClient.SqlClient | Settings> = Effect.gen(function* () {
  const { keys: held, source } = yield* heldKeys
  const uses = yield* usedKeys
  const [current, ...old] = held
  if (current === undefined) {
    return uses.length === 0
      ? [ok("keys", "No key yet, and nothing that needs one: the first start makes it")]
      : [
          failed(
            "keys",
            "There is no secret key, but tokens and secrets were stored with one. Restore it from a backup.",
          ),
        ]
  }
  const findings: Array<Finding> = [ok("keys", `The key "${current.id}" hashes and encrypts`)]
  for (const key of new Set(uses.map((use) => use.key))) {
    const those = uses.filter((use) => use.key === key)
    if (!held.some(({ id }) => id === key)) {
      findings.push(
        failed(
          "keys",
          `The key "${key}" is missing, and ${listed(those)} need it. Put it back into SERVICE_SECRET_KEY.`,
        ),
      )
    } else if (key !== current.id) {
      findings.push(ok("keys", `The old key "${key}" is still needed by ${listed(those)}`))
    }
  }
  for (const { id } of old.filter((key) => !uses.some((use) => use.key === key.id))) {
    findings.push(ok("keys", `The old key "${id}" is needed by nothing any more and can be taken out`))
  }
  return [...findings, ...(yield* bytes(held, source, uses))]
}).pipe(Effect.orDie)
