import { PgClient } from "@effect/sql-pg"
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect } from "effect"
import { calculateJwkThumbprint, compactVerify } from "jose"
import { createPublicKey, verify } from "node:crypto"
import { verifierKeyOf } from "../../src/domains/signing/VerifierKey.ts"
import { Signer, signingKeyPlace } from "../../src/domains/signing/Signer.ts"
import { SecretKeysRepo } from "../../src/domains/maintenance/SecretKeysRepo.ts"
import { bySystem } from "../../src/kernel/contract/Caller.ts"
import { Transactions } from "../../src/kernel/database/Transactions.ts"
import { SecretBox } from "../../src/kernel/ports/SecretBox.ts"
import auditVectors from "../fixtures/offline/audit.json" with { type: "json" }
import { TestService } from "../support/TestService.ts"
import type { HttpResponse } from "../support/TestService.ts"
import { organizationIdOf } from "../support/organizationIds.ts"

const rejection = ({ body, status }: HttpResponse) => [status, body.code]

const opened = Effect.gen(function* () {
  const service = yield* TestService
  const tenant = yield* service.tenant()
  const signer = yield* Signer
  const transactions = yield* Transactions
  const sql = yield* PgClient.PgClient
  const source = { ...bySystem, organizationId: tenant.organizationId }
  const call = (method: string, path: string, body?: object) =>
    service.core(method, path, { token: tenant.token, ...(body === undefined ? {} : { body }) })
  return {
    service,
    tenant,
    sql,
    signer,
    call,
    create: (purpose = "offline") => call("POST", "/signing-keys", { purpose }),
    keys: Effect.map(call("GET", "/signing-keys"), ({ body }) => body.items),
    current: transactions.run(signer.current(source, "offline")),
    eventTypes: Effect.map(call("GET", "/events"), ({ body }) =>
      body.items.flatMap(({ type, data }: { type: string; data: { kid: string } }) =>
        type.startsWith("SIGNING_KEY") ? [[type, data.kid]] : [],
      ),
    ),
  }
})

const publicKey = (x: string) => createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" })

describe("a verifier key", () => {
  it("is the one of the vectors of signed notes", () => {
    const [, organizationId = ""] = auditVectors.origin.split("/")
    assert.strictEqual(
      verifierKeyOf(organizationIdOf(organizationId), auditVectors.key.x),
      auditVectors.key.verifierKey,
    )
  })
})

layer(TestService.layer, { excludeTestServices: true })("signing keys", (it) => {
  it.effect("the first use of a purpose creates one key with its event, for fifty users at once", () =>
    Effect.gen(function* () {
      const { current, eventTypes, keys, tenant } = yield* opened
      const used = yield* Effect.all(
        Array.from({ length: 50 }, () => current),
        { concurrency: 50 },
      )
      const [kid] = new Set(used.map((key) => key.kid))
      assert.deepStrictEqual(
        used.map((key) => key.kid),
        used.map(() => kid),
      )
      const [record, ...more] = yield* keys
      assert.deepStrictEqual(
        [record.kid, record.purpose, record.state, record.verifierKey, more],
        [kid, "offline", "CURRENT", null, []],
      )
      assert.strictEqual(record.activatedAt, record.createdAt)
      assert.deepStrictEqual(yield* eventTypes, [["SIGNING_KEY_CREATED", kid]])
      assert.strictEqual(used[0]?.organizationId, tenant.organizationId)
    }),
  )

  it.effect("a key signs bytes and tokens that its public half verifies, and is named by its thumbprint", () =>
    Effect.gen(function* () {
      const { current, signer } = yield* opened
      const key = yield* current
      const bytes = Buffer.from("hello")
      assert.isTrue(verify(null, bytes, publicKey(key.x), yield* signer.sign(key, bytes)))
      assert.strictEqual(
        key.kid,
        yield* Effect.promise(() => calculateJwkThumbprint({ kty: "OKP", crv: "Ed25519", x: key.x })),
      )
      const token = yield* signer.signToken(key, "test+jwt", '{"a":1}')
      const verified = yield* Effect.promise(() => compactVerify(token, publicKey(key.x)))
      assert.deepStrictEqual(verified.protectedHeader, { typ: "test+jwt", alg: "EdDSA", kid: key.kid })
      assert.strictEqual(Buffer.from(verified.payload).toString(), '{"a":1}')
    }),
  )

  it.effect("a creation makes the first key current, the second one next, and no third one", () =>
    Effect.gen(function* () {
      const { create, current } = yield* opened
      const first = yield* create()
      assert.deepStrictEqual([first.status, first.body.state], [201, "CURRENT"])
      assert.strictEqual(first.headers.get("location"), `/api/signing-keys/${first.body.kid}`)
      const second = yield* create()
      assert.deepStrictEqual([second.status, second.body.state, second.body.activatedAt], [201, "NEXT", null])
      assert.deepStrictEqual(rejection(yield* create()), [409, "CreateSigningKey.NextExists"])
      const used = yield* current
      assert.deepStrictEqual([used.kid, used.next?.kid], [first.body.kid, second.body.kid])
      const audit = yield* create("audit")
      assert.deepStrictEqual([audit.status, audit.body.state], [201, "CURRENT"])
      assert.match(audit.body.verifierKey, /^keyshelf\/[0-9a-f-]{36}\+[0-9a-f]{8}\+[A-Za-z0-9+/]{44}$/)
    }),
  )

  it.effect("concurrent creations make one current and one next key", () =>
    Effect.gen(function* () {
      const { create } = yield* opened
      const answers = yield* Effect.replicateEffect(create(), 6, { concurrency: 6 })
      assert.sameMembers(
        answers.map(({ body, status }) => (status === 201 ? body.state : status)),
        ["CURRENT", "NEXT", 409, 409, 409, 409],
      )
    }),
  )

  it.effect("only the next key can be activated: it signs, and the one before has no private half any more", () =>
    Effect.gen(function* () {
      const { call, create, current, eventTypes, keys, signer, sql, tenant } = yield* opened
      const { body: first } = yield* create()
      const before = yield* current
      const { body: second } = yield* create()
      assert.deepStrictEqual(rejection(yield* call("POST", `/signing-keys/${first.kid}/activate`)), [
        409,
        "ActivateSigningKey.NotNext",
      ])
      const activated = yield* call("POST", `/signing-keys/${second.kid}/activate`)
      assert.deepStrictEqual([activated.status, activated.body.state], [200, "CURRENT"])
      assert.strictEqual((yield* current).kid, second.kid)
      assert.deepStrictEqual(
        (yield* keys).map(({ kid, state }: { kid: string; state: string }) => [kid, state]),
        [
          [second.kid, "CURRENT"],
          [first.kid, "RETIRED"],
        ],
      )
      const rows = yield* sql`SELECT kid FROM signing_keys
        WHERE organization_id = ${tenant.organizationId} AND sealed IS NOT NULL`
      assert.deepStrictEqual(rows, [{ kid: second.kid }])
      const retired = (yield* signer.trusted(tenant.organizationId, "offline")).find(({ kid }) => kid === before.kid)
      const tried = yield* Effect.exit(signer.sign(retired ?? before, Buffer.from("x")))
      assert.strictEqual(tried._tag, "Failure")
      assert.deepStrictEqual(yield* eventTypes, [
        ["SIGNING_KEY_CREATED", first.kid],
        ["SIGNING_KEY_CREATED", second.kid],
        ["SIGNING_KEY_ACTIVATED", second.kid],
      ])
    }),
  )

  it.effect("a use during an activation gets the new key", () =>
    Effect.gen(function* () {
      const { call, create, current } = yield* opened
      yield* create()
      const { body: next } = yield* create()
      const [, ...used] = yield* Effect.all(
        [
          call("POST", `/signing-keys/${next.kid}/activate`),
          ...Array.from({ length: 20 }, () => Effect.map(current, ({ kid }) => kid)),
        ],
        { concurrency: "unbounded" },
      )
      assert.strictEqual(used.length, 20)
      assert.strictEqual((yield* current).kid, next.kid)
    }),
  )

  it.effect("any key but the current one can be revoked, once", () =>
    Effect.gen(function* () {
      const { call, create, eventTypes, keys } = yield* opened
      const { body: first } = yield* create()
      const revoke = (kid: string) => call("DELETE", `/signing-keys/${kid}`)
      assert.deepStrictEqual(rejection(yield* revoke(first.kid)), [409, "RevokeSigningKey.Current"])
      const { body: second } = yield* create()
      assert.strictEqual((yield* revoke(second.kid)).status, 204)
      assert.strictEqual((yield* revoke(second.kid)).status, 204)
      const [record] = yield* keys
      assert.deepStrictEqual([record.kid, record.state, record.revokedAt !== null], [second.kid, "REVOKED", true])
      assert.deepStrictEqual((yield* eventTypes).at(-1), ["SIGNING_KEY_REVOKED", second.kid])
      assert.strictEqual((yield* eventTypes).length, 3)
      assert.strictEqual((yield* create()).body.state, "NEXT")
      assert.deepStrictEqual(rejection(yield* revoke("unknown")), [404, "SigningKey.NotFound"])
    }),
  )

  it.effect("another organization neither sees nor changes a key", () =>
    Effect.gen(function* () {
      const { create } = yield* opened
      const other = yield* opened
      const { body } = yield* create()
      assert.deepStrictEqual(yield* other.keys, [])
      assert.deepStrictEqual(rejection(yield* other.call("DELETE", `/signing-keys/${body.kid}`)), [
        404,
        "SigningKey.NotFound",
      ])
    }),
  )

  it.effect(
    "private halves are sealed for their organization and name, and counted among what needs a secret key",
    () =>
      Effect.gen(function* () {
        const { create, sql, tenant } = yield* opened
        const { body } = yield* create()
        const box = yield* SecretBox
        const [row] = yield* sql<{ sealed: string; text: string }>`
        SELECT sealed, row_to_json(signing_keys)::text AS text FROM signing_keys
        WHERE organization_id = ${tenant.organizationId}`
        const d = yield* box.open(signingKeyPlace(tenant.organizationId, body.kid), row?.sealed ?? "")
        assert.strictEqual(Buffer.from(d, "base64url").length, 32)
        assert.notInclude(row?.text ?? d, d)
        const elsewhere = yield* Effect.exit(
          box.open(signingKeyPlace(tenant.organizationId, "other"), row?.sealed ?? ""),
        )
        assert.strictEqual(elsewhere._tag, "Failure")
        const repo = yield* Effect.provide(SecretKeysRepo, SecretKeysRepo.layer)
        const uses = yield* repo.uses(new Date())
        assert.deepStrictEqual(
          uses.filter(({ what }) => what === "signing_keys").map(({ key }) => key),
          ["test"],
        )
        const found = (yield* repo.sealedWith("test", 1000)).find(({ what }) => what === "signing keys")
        const texts = yield* Effect.forEach(found?.values ?? [], ({ place, sealed }) => box.open(place, sealed))
        assert.include(texts, d)
      }),
  )
})
