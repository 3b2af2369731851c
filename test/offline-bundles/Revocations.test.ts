import { assert, layer } from "@effect/vitest"
import { Effect, Option } from "effect"
import { randomUUID } from "node:crypto"
import { PublishedKeys } from "../../src/domains/offline/PublishedKeys.ts"
import { RevocationLists } from "../../src/domains/offline/revocations/Service.ts"
import { DAY_MS, HOUR_MS } from "../../src/kernel/values/Timestamp.ts"
import { TestService } from "../support/TestService.ts"
import { at, inDays, openSite, payloadOf, rejection } from "./Site.ts"

layer(TestService.layer, { excludeTestServices: true })("a revocation", (it) => {
  it.effect("voids a bundle and all before it, on the list from then on", () =>
    Effect.gen(function* () {
      const { call, events, instance, issued, list, path } = yield* openSite
      const [first, second, third] = [yield* issued(), yield* issued(), yield* issued()]
      const { claims: empty, header } = yield* list
      assert.deepStrictEqual([empty.v, empty.number, empty.revoked], [1, 1, []])
      assert.deepStrictEqual([header.typ, header.kid], ["keyshelf-revocations+jwt", first.keyId])
      assert.strictEqual(empty.iat % 3600, 0)
      assert.isAtMost(Math.abs(empty.iat - Date.now() / 1000), 3_700)
      assert.strictEqual(empty.exp - empty.iat, 7 * 86_400)
      assert.strictEqual((yield* call("DELETE", `${path}/${second.id}`)).status, 204)
      const { claims } = yield* list
      const revokedAt = (yield* call("GET", `${path}/${second.id}`)).body.revokedAt
      assert.deepStrictEqual([claims.number, claims.revoked], [2, [{ sub: instance.id, seq: 2, at: revokedAt }]])
      const states = (yield* call("GET", path)).body.items.map(
        ({ revokedAt: voided, revokedBy }: { revokedAt: string | null; revokedBy: unknown }) => [
          voided,
          revokedBy !== null,
        ],
      )
      assert.deepStrictEqual(states, [
        [null, false],
        [revokedAt, true],
        [revokedAt, true],
      ])
      // Again, and of one that is void already: nothing.
      assert.strictEqual((yield* call("DELETE", `${path}/${second.id}`)).status, 204)
      assert.strictEqual((yield* call("DELETE", `${path}/${first.id}`)).status, 204)
      assert.strictEqual((yield* list).claims.number, 2)
      assert.strictEqual((yield* call("DELETE", `${path}/${third.id}`)).status, 204)
      assert.deepStrictEqual(
        [(yield* list).claims.number, (yield* list).claims.revoked.map(({ seq }: { seq: number }) => seq)],
        [3, [3]],
      )
      assert.deepStrictEqual((yield* events).slice(3), [
        ["OFFLINE_BUNDLE_REVOKED", 2],
        ["OFFLINE_BUNDLE_REVOKED", 3],
      ])
      assert.deepStrictEqual(rejection(yield* call("DELETE", `${path}/${randomUUID()}`)), [
        404,
        "OfflineBundle.NotFound",
      ])
    }),
  )

  it.effect("follows from the deletion of an instance; its bundles stay", () =>
    Effect.gen(function* () {
      const { call, events, instance, issued, list, sql } = yield* openSite
      yield* issued()
      yield* issued()
      assert.strictEqual((yield* call("DELETE", "/instances/prod")).status, 204)
      const { claims } = yield* list
      assert.deepStrictEqual(
        claims.revoked.map(({ seq, sub }: { seq: number; sub: string }) => [sub, seq]),
        [[instance.id, 2]],
      )
      assert.deepStrictEqual((yield* events).at(-1), ["OFFLINE_BUNDLE_REVOKED", 2])
      const rows =
        yield* sql`SELECT 1 FROM offline_bundles WHERE instance_id = ${instance.id} AND revoked_at IS NOT NULL`
      assert.strictEqual(rows.length, 2)
    }),
  )

  it.effect("follows from a deletion also where only a bundle before the newest has not expired", () =>
    Effect.gen(function* () {
      const { asCaller, bundles, call, issued, list } = yield* openSite
      const old = { ttlSeconds: 3_600, graceSeconds: 0 }
      yield* issued()
      yield* at(Date.now() - 2 * HOUR_MS)(asCaller(bundles.issue("prod", old)))
      yield* call("DELETE", "/instances/prod")
      assert.deepStrictEqual(
        (yield* list).claims.revoked.map(({ seq }: { seq: number }) => seq),
        [2],
      )
    }),
  )

  it.effect("does not follow from the deletion of an instance without a bundle that is valid", () =>
    Effect.gen(function* () {
      const { asCaller, bundles, call, issued, list } = yield* openSite
      yield* issued()
      const other = yield* call("POST", "/instances", {
        name: "Other",
        slug: "other",
        customerSlug: "globex",
        licenseSlug: "pro",
        startLicenseDate: inDays(-1),
        endLicenseDate: null,
      })
      assert.strictEqual(other.status, 201)
      const expired = at(Date.now() - 2 * HOUR_MS)(
        asCaller(bundles.issue("other", { ttlSeconds: 3_600, graceSeconds: 0 })),
      )
      yield* expired
      assert.strictEqual((yield* call("DELETE", "/instances/other")).status, 204)
      assert.deepStrictEqual((yield* list).claims.revoked, [])
    }),
  )

  it.effect("leaves the list when all that it voids has expired, and numbers never fall", () =>
    Effect.gen(function* () {
      const { asCaller, bundles, organizationId } = yield* openSite
      const lists = yield* RevocationLists
      const start = Date.now()
      const listAt = (days: number) =>
        Effect.map(at(start + days * DAY_MS)(lists.current(organizationId)), (text) =>
          payloadOf(Option.getOrThrow(text)),
        )
      const issueAt = (days: number, input: object) => at(start + days * DAY_MS)(asCaller(bundles.issue("prod", input)))
      const revokeAt = (days: number, id: string) => at(start + days * DAY_MS)(asCaller(bundles.revoke("prod", id)))
      yield* issueAt(0, { ttlSeconds: 20 * 86_400, graceSeconds: 0 })
      const second = yield* issueAt(1, { ttlSeconds: 2 * 86_400, graceSeconds: 0 })
      yield* revokeAt(2, second.id)
      const revoked = (list: { revoked: ReadonlyArray<{ seq: number }> }) => list.revoked.map(({ seq }) => seq)
      // The first one lives longer, and is void too.
      assert.deepStrictEqual(revoked(yield* listAt(19.9)), [2])
      assert.deepStrictEqual(revoked(yield* listAt(20 + 1 / 24)), [])
      assert.strictEqual((yield* listAt(20.5)).number, 2)
      const third = yield* issueAt(21, {})
      yield* revokeAt(22, third.id)
      assert.deepStrictEqual(revoked(yield* listAt(22)), [3])
      assert.strictEqual((yield* listAt(22)).number, 3)
      // What has expired cannot be voided any more.
      const fourth = yield* issueAt(23, { ttlSeconds: 3600, graceSeconds: 0 })
      yield* revokeAt(80, fourth.id)
      assert.deepStrictEqual([(yield* listAt(80)).number, revoked(yield* listAt(80))], [3, []])
    }),
  )
})

layer(TestService.layer, { excludeTestServices: true })("what verifiers read", (it) => {
  it.effect("has an ETag and may be cached for five minutes; an unchanged one is 304", () =>
    Effect.gen(function* () {
      const { call, issued, open, path } = yield* openSite
      const { id } = yield* issued()
      for (const [name, type] of [
        ["keys", "application/json"],
        ["revocations", "application/jwt"],
      ] as const) {
        const answer = yield* open(name)
        const etag = answer.headers.get("etag") ?? ""
        assert.deepStrictEqual(
          [answer.status, answer.headers.get("content-type"), answer.headers.get("cache-control")],
          [200, type, "max-age=300"],
        )
        const same = yield* open(name, { "if-none-match": etag })
        assert.deepStrictEqual(
          [same.status, same.text, same.headers.get("etag"), same.headers.get("cache-control")],
          [304, "", etag, "max-age=300"],
        )
        assert.strictEqual((yield* open(name, { "if-none-match": '"other"' })).status, 200)
      }
      const { headers } = yield* open("revocations")
      yield* call("DELETE", `${path}/${id}`)
      const changed = yield* open("revocations", { "if-none-match": headers.get("etag") ?? "" })
      assert.strictEqual(changed.status, 200)
    }),
  )

  it.effect("does not tell an unknown organization from one without keys, nor from a removed one", () =>
    Effect.gen(function* () {
      const { issued, open, organizationId } = yield* openSite
      const { core, operator, platform, tenant } = yield* TestService
      const empty = yield* tenant()
      const read = Effect.fnUntraced(function* (id: string) {
        const keys = yield* core("GET", `/offline/${id}/keys`)
        const list = yield* core("GET", `/offline/${id}/revocations`)
        return [keys.status, keys.text, list.status, list.body?.code]
      })
      const nothing = [200, '{"keys":[]}', 404, "RevocationList.NotFound"]
      for (const id of [empty.organizationId, randomUUID(), "acme", organizationId]) {
        assert.deepStrictEqual(yield* read(id), nothing, id)
      }
      yield* issued()
      assert.strictEqual((yield* open("keys")).body.keys.length, 1)
      const { body } = yield* platform("GET", `/platform/organizations/${organizationId}`, { token: operator })
      yield* platform("DELETE", `/platform/organizations/${organizationId}?confirm=${body.slug}`, { token: operator })
      assert.deepStrictEqual(yield* read(organizationId), nothing)
    }),
  )

  it.effect("is the same on all nodes and in all minutes of an hour", () =>
    Effect.gen(function* () {
      const { issued, organizationId } = yield* openSite
      yield* issued()
      const node = yield* RevocationLists
      const another = yield* Effect.provide(RevocationLists, RevocationLists.layer)
      const hour = Math.ceil(Date.now() / HOUR_MS) * HOUR_MS
      const texts = yield* Effect.forEach(
        [
          [node, 0],
          [node, 59],
          [another, 30],
        ] as const,
        ([lists, minutes]) => at(hour + minutes * 60_000)(lists.current(organizationId)),
      )
      assert.strictEqual(new Set(texts.map(Option.getOrThrow)).size, 1)
      const later = yield* at(hour + HOUR_MS)(node.current(organizationId))
      assert.notInclude(texts, later)
    }),
  )

  it.effect("is not asked of the database by strangers without need: a list is signed once an hour", () =>
    Effect.gen(function* () {
      const { issued, organizationId, sql } = yield* openSite
      yield* issued()
      const lists = yield* RevocationLists
      const keys = yield* PublishedKeys
      const before = Option.getOrThrow(yield* lists.current(organizationId))
      // Nobody does this: it shows that the revocations are not read again.
      yield* sql`INSERT INTO offline_revocations (organization_id, instance_id, sequence, revoked_at, until)
        VALUES (${organizationId}, ${randomUUID()}, 1, now(), now() + interval '10 days')`
      assert.strictEqual(Option.getOrThrow(yield* lists.current(organizationId)), before)
      assert.strictEqual((yield* keys.of(organizationId)).length, 1)
    }),
  )
})
