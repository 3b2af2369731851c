import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { randomBytes } from "node:crypto"
import { request } from "../support/http.ts"
import type { HttpResponse } from "../support/http.ts"
import { freePorts, randomCredential, start } from "../support/ServiceProcess.ts"
import { emptyDatabase, query } from "../cli/database.ts"

type Call = (method: string, path: string, token: string, body?: object) => Effect.Effect<HttpResponse>

const HUBSPOT = "/connectors/service.integration.crm.hubspot"

describe("rotation of SERVICE_SECRET_KEY", { timeout: 120_000 }, () => {
  it.live(
    "old tokens and secrets work while the old key is listed, new ones use the new key, and the doctor fails if the old key is removed too early",
    () =>
      Effect.gen(function* () {
        const url = yield* emptyDatabase
        const operator = randomCredential()
        const [core, platform, internal] = yield* freePorts(3)
        const oldKey = randomBytes(32).toString("base64")
        const newKey = randomBytes(32).toString("base64")

        /** Runs an effect against a process with these keys, then stops the process. */
        const withProcess = <A, E>(keys: string, effect: (call: Call) => Effect.Effect<A, E>) =>
          Effect.scoped(
            Effect.gen(function* () {
              const service = yield* start(["serve"], {
                SERVICE_DATABASE_URL: Redacted.value(url),
                SERVICE_SECRET_KEY: keys,
                SERVICE_BOOTSTRAP_PLATFORM_CREDENTIAL: operator,
                SERVICE_CORE_PORT: String(core),
                SERVICE_PLATFORM_PORT: String(platform),
                SERVICE_INTERNAL_PORT: String(internal),
              })
              yield* service.ready
              return yield* effect((method, path, token, body) =>
                Effect.promise(() =>
                  request(method, `${path.startsWith("/platform") ? service.platform : service.core}/api${path}`, {
                    token,
                    ...(body === undefined ? {} : { body }),
                  }),
                ),
              )
            }),
          )
        const mint = (organizationId: string) => `/platform/organizations/${organizationId}/tokens`
        const sealedUnder = query(url, "SELECT split_part(sealed, '.', 2) AS key FROM connector_settings")
        const doctor = (keys: string) =>
          Effect.scoped(
            Effect.gen(function* () {
              const env = {
                SERVICE_DATABASE_URL: Redacted.value(url),
                SERVICE_SECRET_KEY: keys,
                SERVICE_ROLES: "sweeper",
              }
              return yield* (yield* start(["doctor"], env)).ended
            }),
          )

        // A single key without an id gets the id "default".
        const first = yield* withProcess(oldKey, (call) =>
          Effect.gen(function* () {
            const { id } = (yield* call("POST", "/platform/organizations", operator, { name: "Acme" })).body
            const token: string = (yield* call("POST", mint(id), operator, { name: "old" })).body.token
            yield* call("POST", `${HUBSPOT}/activation`, token)
            const put = yield* call("PUT", `${HUBSPOT}/settings`, token, { settings: { accessToken: "kept-secret" } })
            assert.strictEqual(put.status, 200, put.text)
            return { id: String(id), token }
          }),
        )
        assert.deepStrictEqual(yield* sealedUnder, [{ key: "default" }])

        const both = `2026:${newKey},default:${oldKey}`
        const second = yield* withProcess(both, (call) =>
          Effect.gen(function* () {
            assert.strictEqual((yield* call("GET", "/me", first.token)).status, 200)
            assert.strictEqual((yield* call("GET", "/platform/me", operator)).status, 200)
            const fresh: string = (yield* call("POST", mint(first.id), operator, { name: "new" })).body.token
            // *** keeps the stored secret: the old key decrypts it, and the new key encrypts the settings.
            const kept = yield* call("PUT", `${HUBSPOT}/settings`, fresh, {
              settings: { accessToken: "***", idProperty: "code" },
            })
            assert.strictEqual(kept.status, 200, kept.text)
            return { fresh }
          }),
        )
        assert.deepStrictEqual(yield* sealedUnder, [{ key: "2026" }])
        const during = yield* doctor(both)
        assert.strictEqual(during.code, 0, during.output)
        assert.match(during.output, /^ok +keys +The old key "default" is still needed by 2 tokens$/m)

        // Removing the old key too early invalidates its tokens, and the doctor fails.
        yield* withProcess(`2026:${newKey}`, (call) =>
          Effect.gen(function* () {
            assert.strictEqual((yield* call("GET", "/me", first.token)).status, 401)
            assert.strictEqual((yield* call("GET", "/me", second.fresh)).status, 200)
            const kept = yield* call("PUT", `${HUBSPOT}/settings`, second.fresh, { settings: { accessToken: "***" } })
            assert.strictEqual(kept.status, 200, kept.text)
          }),
        )
        const early = yield* doctor(`2026:${newKey}`)
        assert.strictEqual(early.code, 1)
        assert.match(early.output, /^FAILED +keys +The key "default" is missing, and 2 tokens need it/m)
      }),
  )
})
