import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Effect, Exit, Redacted } from "effect"
import { Webhook } from "standardwebhooks"
import { MAX_ACTIVE_SECRETS } from "../../src/domains/webhooks/endpoints/Rules.ts"
import { SigningSecrets } from "../../src/domains/webhooks/endpoints/SigningSecrets.ts"
import { TestService } from "../support/TestService.ts"
import { openWebhookFixture } from "./WebhookFixture.ts"

const HOUR = 3_600_000

const opened = Effect.gen(function* () {
  const fixture = yield* openWebhookFixture
  const secrets = yield* SigningSecrets
  const { organizationId } = fixture.tenant
  return {
    ...fixture,
    organizationId,
    rotate: (id: string) => Effect.map(fixture.call("POST", `/webhooks/${id}/rotate-secret`), ({ body }) => body),
    active: (id: string, at: Date, organization = organizationId) =>
      Effect.map(secrets.findActive(organization, id, at), (found) => found.map((secret) => Redacted.value(secret))),
  }
})

layer(TestService.layer, { excludeTestServices: true })("the secrets of an endpoint", (it) => {
  it.effect("the secret in the response is the secret that signs", () =>
    Effect.gen(function* () {
      const { active, createEndpoint } = yield* opened
      const made = yield* createEndpoint()
      const [signing] = yield* active(made.id, new Date())
      const at = new Date()
      const payload = JSON.stringify({ id: "1" })
      const signature = new Webhook(signing ?? "").sign("msg", at, payload)
      const headers = {
        "webhook-id": "msg",
        "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
        "webhook-signature": signature,
      }
      assert.deepStrictEqual(new Webhook(made.secret).verify(payload, headers), { id: "1" })
    }),
  )

  it.effect("a rotation returns a new secret, and the old one stays active for 24 hours", () =>
    Effect.gen(function* () {
      const { active, call, createEndpoint, events, rotate } = yield* opened
      const made = yield* createEndpoint()
      const before = Date.now()
      const answer = yield* call("POST", `/webhooks/${made.id}/rotate-secret`)
      assert.strictEqual(answer.status, 200)
      const { secret, ...record } = answer.body
      assert.match(secret, /^whsec_/)
      assert.notStrictEqual(secret, made.secret)
      assert.deepStrictEqual((yield* call("GET", `/webhooks/${made.id}`)).body, record)
      assert.deepStrictEqual(yield* active(made.id, new Date(before + 24 * HOUR - 1000)), [secret, made.secret])
      assert.deepStrictEqual(yield* active(made.id, new Date(Date.now() + 24 * HOUR)), [secret])
      assert.deepStrictEqual((yield* events).at(-1), ["WEBHOOK_ENDPOINT_SECRET_ROTATED", record])
      const third = yield* rotate(made.id)
      assert.deepStrictEqual(yield* active(made.id, new Date(before + 24 * HOUR - 1000)), [
        third.secret,
        secret,
        made.secret,
      ])
    }),
  )

  it.effect("a second rotation does not extend the first secret", () =>
    Effect.gen(function* () {
      const { active, createEndpoint, organizationId, rotate, sql } = yield* opened
      const made = yield* createEndpoint()
      yield* rotate(made.id)
      const end = new Date(Date.now() + HOUR)
      yield* sql`UPDATE webhook_secrets SET expires_at = ${end}
        WHERE organization_id = ${organizationId} AND endpoint_id = ${made.id} AND expires_at IS NOT NULL`
      yield* rotate(made.id)
      assert.strictEqual((yield* active(made.id, new Date(end.getTime() - 1))).length, 3)
      assert.notInclude(yield* active(made.id, end), made.secret)
    }),
  )

  it.effect("after many rotations only the newest ten secrets are active", () =>
    Effect.gen(function* () {
      const { active, createEndpoint, rotate } = yield* opened
      const made = yield* createEndpoint()
      let newest = made.secret
      for (let turn = 0; turn < MAX_ACTIVE_SECRETS; turn++) newest = (yield* rotate(made.id)).secret
      const signing = yield* active(made.id, new Date())
      assert.strictEqual(signing.length, MAX_ACTIVE_SECRETS)
      assert.strictEqual(signing[0], newest)
      assert.notInclude(signing, made.secret)
    }),
  )

  it.effect("a secret is sealed in the database and cannot be opened for another endpoint", () =>
    Effect.gen(function* () {
      const { active, createEndpoint, organizationId } = yield* opened
      const sql = yield* PgClient.PgClient
      const one = yield* createEndpoint()
      const other = yield* createEndpoint()
      const stored = yield* sql<{ text: string }>`
        SELECT row_to_json(webhook_secrets)::text || coalesce((SELECT string_agg(row_to_json(events)::text, '')
          FROM events WHERE organization_id = ${organizationId}), '') AS text
        FROM webhook_secrets WHERE organization_id = ${organizationId} AND endpoint_id = ${one.id}`
      assert.strictEqual(stored.length, 1)
      assert.notInclude(stored[0]?.text ?? "", one.secret.slice("whsec_".length))
      yield* sql`
        UPDATE webhook_secrets SET sealed = (
          SELECT sealed FROM webhook_secrets WHERE organization_id = ${organizationId} AND endpoint_id = ${one.id})
        WHERE organization_id = ${organizationId} AND endpoint_id = ${other.id}`
      assert.isTrue(Exit.isFailure(yield* Effect.exit(active(other.id, new Date()))))
    }),
  )

  it.effect("an unknown endpoint, or one of another organization, has no secrets", () =>
    Effect.gen(function* () {
      const { active, call, createEndpoint, service } = yield* opened
      const stranger = yield* service.tenant()
      const made = yield* createEndpoint()
      assert.deepStrictEqual(yield* active(made.id, new Date(), stranger.organizationId), [])
      yield* call("DELETE", `/webhooks/${made.id}`)
      assert.deepStrictEqual(yield* active(made.id, new Date()), [])
    }),
  )
})
