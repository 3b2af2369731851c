/**
 * Checks the secret keys: whether each needed key is configured, whether it is correct, and which old ones are still
 * needed.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Layer } from "effect"
import type { SqlClient } from "effect/sql"
import * as InstallationKeys from "../../app/InstallationKeys.ts"
import type { KeyCheck } from "../../domains/maintenance/SecretKeyRules.ts"
import { SecretKeys } from "../../domains/maintenance/SecretKeys.ts"
import { SecretKeysRepo } from "../../domains/maintenance/SecretKeysRepo.ts"
import type { KeyUse } from "../../domains/maintenance/SecretKeysRepo.ts"
import * as KeyRing from "../../infra/KeyRing.ts"
import type { KeySource } from "../../infra/KeyRing.ts"
import { Settings } from "../../infra/Settings.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import { failed, ok } from "./Report.ts"
import type { Check, Finding } from "./Report.ts"

const listed = (uses: ReadonlyArray<KeyUse>) => uses.map(({ count, what }) => `${count} ${what}`).join(", ")

// An id does not prove that the key is correct: its 32 bytes may have been replaced. So the key is compared with its
// check value, and stored values are opened with it.
const keyFindings = Effect.fnUntraced(function* ({ keys, name }: KeySource, uses: ReadonlyArray<KeyUse>) {
  const { bootstrapPlatformCredential } = yield* Settings
  const used = keys.map(({ id }) => id).filter((id) => uses.some((use) => use.key === id))
  const secretKeys = yield* SecretKeys
  const checks = yield* secretKeys.checks
  const tried = yield* secretKeys.openings(used, bootstrapPlatformCredential)
  const findingOf = (key: string, check: KeyCheck): ReadonlyArray<Finding> => {
    const ofKey = tried.filter((opening) => opening.key === key)
    const wrong = ofKey.filter(({ opened, tried: count }) => opened < count)
    if (wrong.length > 0) {
      const what = wrong.map((each) => `${each.tried - each.opened} of ${each.tried} ${each.what}`).join(", ")
      return [
        failed(
          "keys",
          `The key "${key}" of ${name} does not open ${what}: they were stored with a different key under this id, or they were altered. Restore the previous key; add a new key before it, with a new id.`,
        ),
      ]
    }
    if (check === "different") {
      return [
        failed(
          "keys",
          `The key "${key}" of ${name} does not fit: this database was used with a different key under this id, and the service does not start. Restore that key; give a new key a new id.`,
        ),
      ]
    }
    if (ofKey.length > 0) {
      return [ok("keys", `The key "${key}" opens ${ofKey.map((each) => `${each.opened} ${each.what}`).join(", ")}`)]
    }
    if (check === "same") return [ok("keys", `The key "${key}" fits: this database was first used with it`)]
    return used.includes(key)
      ? [
          ok(
            "keys",
            `The key "${key}" cannot be checked: ${listed(uses.filter((use) => use.key === key))} use it, but no webhook secrets or connector settings are encrypted with it`,
          ),
        ]
      : []
  }
  return [...checks].flatMap(([key, check]) => findingOf(key, check))
})

/**
 * Checks that every key of stored tokens and secrets is configured and opens them, and lists which old keys are still
 * needed.
 */
export const keys: Check<SqlClient.SqlClient | Settings> = Effect.gen(function* () {
  const source = yield* KeyRing.read
  const { keys: configured } = source
  const uses = yield* Effect.flatMap(SecretKeysRepo, (repo) => Effect.flatMap(now, repo.uses))
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
  const comparing = InstallationKeys.comparing(KeyRing.layerFrom(configured))
  return [...findings, ...(yield* keyFindings(source, uses).pipe(Effect.provide(comparing)))]
}).pipe(
  Effect.catchTag("SettingsError", ({ message }) => Effect.succeed([failed("keys", message)])),
  Effect.orDie,
  Effect.provide(Layer.merge(SecretKeysRepo.layer, NodeServices.layer)),
)
