import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { randomBytes } from "node:crypto"
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { emptyDatabase, query } from "../cli/database.ts"
import { request } from "../support/http.ts"
import { freePorts, randomCredential, settings, start } from "../support/ServiceProcess.ts"
import { temporaryDirectory } from "../support/temporaryDirectory.ts"
import type { Ended, ServiceProcess } from "../support/ServiceProcess.ts"

const randomKey = () => randomBytes(32).toString("base64")

const run = Effect.fnUntraced(function* (args: ReadonlyArray<string>, env: Record<string, string>) {
  return yield* (yield* start(args, env)).ended
}, Effect.scoped)

/** One line that names the setting and the id of the key, without the key. */
const assertRejected = ({ code, output }: Ended, id: string, key: string) => {
  assert.strictEqual(code, 1, output)
  const lines = output.trim().split("\n")
  assert.lengthOf(lines, 1, output)
  assert.include(lines[0], "SERVICE_SECRET_KEY")
  assert.include(lines[0], `"${id}"`)
  assert.notInclude(output, key)
}

/** An installation on a server, whose nodes have their keys from the caller. */
const installation = Effect.gen(function* () {
  const url = yield* emptyDatabase
  const operator = randomCredential()
  const env = Effect.fnUntraced(function* (keys: string) {
    const [core, platform, internal] = yield* freePorts(3)
    return {
      SERVICE_DATABASE_URL: Redacted.value(url),
      SERVICE_SECRET_KEY: keys,
      SERVICE_BOOTSTRAP_PLATFORM_CREDENTIAL: operator,
      SERVICE_CORE_PORT: String(core),
      SERVICE_PLATFORM_PORT: String(platform),
      SERVICE_INTERNAL_PORT: String(internal),
    }
  })
  const command = (keys: string, ...args: ReadonlyArray<string>) => Effect.flatMap(env(keys), (set) => run(args, set))
  const node = Effect.fnUntraced(function* (keys: string) {
    const service = yield* start(["serve"], yield* env(keys))
    yield* service.ready
    return service
  })
  const stop = Effect.fnUntraced(function* (service: ServiceProcess) {
    service.process.kill("SIGTERM")
    yield* service.ended
  })
  return { url, operator, command, node, stop }
})

const post = (url: string, token: string, body: object) => Effect.promise(() => request("POST", url, { token, body }))

describe("a start with another secret key", { timeout: 180_000 }, () => {
  it.live("ends with one sentence next to a running node, as do commands; the doctor says FAILED", () =>
    Effect.gen(function* () {
      const { command, node, stop, url } = yield* installation
      const [right, wrong] = [randomKey(), randomKey()]
      const service = yield* node(right)
      assertRejected(yield* command(wrong, "serve"), "default", wrong)
      assertRejected(yield* command(wrong, "platform-credential", "create"), "default", wrong)
      assert.deepStrictEqual(yield* query(url, "SELECT count(*)::int AS count FROM credentials"), [{ count: 1 }])
      yield* stop(service)

      const failed = yield* command(wrong, "doctor")
      assert.strictEqual(failed.code, 1, failed.output)
      assert.match(failed.output, /^FAILED +keys +The key "default" of SERVICE_SECRET_KEY /m)

      yield* stop(yield* node(right))
      const fine = yield* command(right, "doctor")
      assert.strictEqual(fine.code, 0, fine.output)
      assert.match(fine.output, /^ok +keys +The key "default" opens 1 tokens/m)
    }),
  )

  it.live("ends with the sentence on a used database without check values, and stores none", () =>
    Effect.gen(function* () {
      const { command, node, stop, url } = yield* installation
      const [right, wrong] = [randomKey(), randomKey()]
      yield* stop(yield* node(right))
      yield* query(url, "DELETE FROM secret_key_checks")
      assertRejected(yield* command(wrong, "serve"), "default", wrong)
      assert.deepStrictEqual(yield* query(url, "SELECT key_id FROM secret_key_checks"), [])
      yield* stop(yield* node(right))
      assert.deepStrictEqual(yield* query(url, "SELECT key_id FROM secret_key_checks"), [{ key_id: "default" }])
    }),
  )

  it.live("ends with the sentence on an embedded database whose key file was replaced or removed", () =>
    Effect.gen(function* () {
      const env = yield* settings(yield* temporaryDirectory, randomCredential())
      const file = join(env.SERVICE_DATA_DIR, "secret-key")
      const service = yield* start(["serve"], env)
      yield* service.ready
      service.process.kill("SIGTERM")
      yield* service.ended
      const right = readFileSync(file, "utf8")

      const wrong = randomKey()
      writeFileSync(file, wrong)
      const replaced = yield* run(["serve"], env)
      assertRejected(replaced, "default", wrong)
      assert.include(replaced.output, file)

      rmSync(file)
      for (const args of [["serve"], ["platform-credential", "list"]]) {
        const removed = yield* run(args, env)
        assertRejected(removed, "default", right.trim())
        assert.include(removed.output, file)
        assert.isFalse(existsSync(file))
      }

      // The contents of the file are the key of the setting, too.
      const again = yield* start(["serve"], { ...env, SERVICE_SECRET_KEY: right.trim() })
      yield* again.ready
    }),
  )

  it.live(
    "works while the key is replaced node by node, and every token works on every node until its key is removed",
    () =>
      Effect.gen(function* () {
        const { command, node, operator, stop } = yield* installation
        const [old, next] = [randomKey(), randomKey()]
        const mint = Effect.fnUntraced(function* (on: ServiceProcess, name: string) {
          const { body } = yield* post(`${on.platform}/api/platform/organizations`, operator, { name })
          const minted = yield* post(`${on.platform}/api/platform/organizations/${body.id}/tokens`, operator, { name })
          return String(minted.body.token)
        })
        const statusOn = (on: ServiceProcess, token: string) =>
          Effect.map(
            Effect.promise(() => request("GET", `${on.core}/api/me`, { token })),
            ({ status }) => status,
          )
        const steps = [`default:${old},2026:${next}`, `2026:${next},default:${old}`]
        let [left, right] = [yield* node(old), yield* node(old)]
        const tokens = [yield* mint(left, "before")]
        for (const keys of steps) {
          yield* stop(left)
          left = yield* node(keys)
          tokens.push(yield* mint(left, keys.slice(0, 7)))
          for (const token of tokens) {
            assert.deepStrictEqual([yield* statusOn(left, token), yield* statusOn(right, token)], [200, 200])
          }
          yield* stop(right)
          right = yield* node(keys)
        }
        yield* stop(left)
        left = yield* node(`2026:${next}`)
        assert.deepStrictEqual(yield* Effect.forEach(tokens, (token) => statusOn(left, token)), [401, 401, 200])
        const other = randomKey()
        assertRejected(yield* command(`2026:${other}`, "serve"), "2026", other)
        assertRejected(yield* command(`2026:${next},default:${other}`, "serve"), "default", other)
      }),
  )
})
