/** A shop with an instance that issues offline bundles, and what a site knows about them: signatures and claims, by `jose` alone. */
import { PgClient } from "@effect/sql-pg"
import { assert } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import { compactVerify, createLocalJWKSet } from "jose"
import { OfflineBundles } from "../../src/domains/offline/bundles/Service.ts"
import { bySystem, Caller } from "../../src/kernel/contract/Caller.ts"
import { DAY_MS } from "../../src/kernel/values/Timestamp.ts"
import { createShop } from "../instances/Shop.ts"
import { TestService } from "../support/TestService.ts"
import type { HttpResponse } from "../support/TestService.ts"

export const iso = (millis: number): string => new Date(millis).toISOString()

/** An instant so many days from now. */
export const inDays = (days: number): string => iso(Date.now() + days * DAY_MS)

/** The status and the code of a rejected request. */
export const rejection = ({ body, status }: HttpResponse) => [status, body?.code]

/** The header of a compact JWS. */
export const headerOf = (token: string) => JSON.parse(Buffer.from(token.split(".")[0] ?? "", "base64url").toString())

/** The payload of a compact JWS whose signature nobody has verified. */
export const payloadOf = (token: string) => JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString())

/** Runs at another time than now. */
export const at =
  (millis: number) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, Exclude<R, Clock.Clock>> =>
    Effect.andThen(TestClock.setTime(millis), effect).pipe(Effect.provide(TestClock.layer())) as never

export const openSite = Effect.gen(function* () {
  const shop = yield* createShop
  const service = yield* TestService
  const sql = yield* PgClient.PgClient
  const { call, tenant } = shop
  const { organizationId } = tenant
  yield* shop.license("pro")
  yield* shop.customer("Globex")
  const instance = yield* shop.instance("Globex production", "globex", "pro", {
    slug: "prod",
    startLicenseDate: inDays(-100),
    endLicenseDate: inDays(4000),
  })
  const path = "/instances/prod/offline-bundles"
  const issue = (body?: object, slug = "prod") => call("POST", `/instances/${slug}/offline-bundles`, body)
  const open = (name: string, headers: Record<string, string> = {}) =>
    service.core("GET", `/offline/${organizationId}/${name}`, { headers })
  const keys = Effect.map(open("keys"), ({ body }) => body.keys)
  const verified = Effect.fnUntraced(function* (token: string) {
    const set = createLocalJWKSet({ keys: yield* keys })
    const { payload, protectedHeader } = yield* Effect.promise(() => compactVerify(token, set))
    return { header: protectedHeader, claims: JSON.parse(Buffer.from(payload).toString()) }
  })
  const issued = Effect.fnUntraced(function* (body?: object, slug?: string) {
    const answer = yield* issue(body, slug)
    assert.strictEqual(answer.status, 201, answer.text)
    return { ...answer.body, claims: (yield* verified(answer.body.bundle)).claims }
  })
  const caller = { organizationId, credentialId: "tests", ...bySystem, scopes: ["write:*"] }
  const bundles = yield* OfflineBundles
  return {
    ...shop,
    service,
    sql,
    organizationId,
    instance,
    path,
    issue,
    issued,
    open,
    keys,
    verified,
    /** The entitlements of the claims of a new bundle, by slug. */
    granted: (body?: object) =>
      Effect.map(issued(body), ({ claims }) =>
        Object.fromEntries(claims.entitlements.map((each: { slug: string }) => [each.slug, each])),
      ),
    /** The verified claims of the present revocation list. */
    list: Effect.flatMap(open("revocations"), ({ text }) => verified(text)),
    /** Acts as the operator, in process and so at any time. */
    asCaller: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.provideService(effect, Caller, Caller.of(caller)),
    bundles,
    events: Effect.map(call("GET", "/events?limit=200"), ({ body }) =>
      body.items.flatMap(({ data, type }: { type: string; data: { sequence: number } }) =>
        type.startsWith("OFFLINE_") ? [[type, data.sequence]] : [],
      ),
    ),
  }
})
