/** A vendor with an instance of a license, and helpers for releases and what decides on them. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { createShop } from "../../instances/Shop.ts"
import type { HttpResponse } from "../../support/TestService.ts"

const DAY_MS = 86_400_000

/** An instant some days from now. */
export const inDays = (days: number) => new Date(Date.now() + days * DAY_MS).toISOString()

/** A running license without an end. */
export const running = { startLicenseDate: "2025-01-01T00:00:00.000Z", endLicenseDate: null }

/** What `GET /instances/{slug}/releases` has, without what does not decide. */
interface Item {
  readonly release: { readonly slug: string }
  readonly allowed: boolean
  readonly reason: string
  readonly missing: ReadonlyArray<string>
}

export const slugsOf = (items: ReadonlyArray<Item>) => items.map(({ release }) => release.slug)

export const createVendor = Effect.gen(function* () {
  const shop = yield* createShop
  yield* shop.entitlement("updates", { type: "BOOLEAN" })
  yield* shop.entitlement("sso", { type: "BOOLEAN" })
  yield* shop.entitlement("seats")
  yield* shop.license("pro")
  yield* shop.grant("pro", "updates", true)
  yield* shop.customer("Globex")
  yield* shop.instance("prod", "globex", "pro", running)
  const does = Effect.fnUntraced(function* (method: string, path: string, body?: object) {
    const response: HttpResponse = yield* shop.call(method, path, body)
    assert.isBelow(response.status, 300, `${method} ${path}: ${response.text}`)
    return response.body
  })
  return {
    ...shop,
    does,
    /** Creates a release that is offered, unless `access` says otherwise. */
    release: (version: string, more: object = {}) =>
      does("POST", "/releases", { version, access: { offered: true }, ...more }),
    access: (slug: string, body: object) => does("PUT", `/releases/${slug}/access`, body),
    list: (query = "", slug = "prod"): Effect.Effect<ReadonlyArray<Item>> =>
      Effect.map(does("GET", `/instances/${slug}/releases${query}`), ({ items }) => items),
    decision: (releaseSlug: string, slug = "prod"): Effect.Effect<Item> =>
      does("GET", `/instances/${slug}/releases/${releaseSlug}`),
    lastEvent: (type: string) =>
      Effect.map(does("GET", `/events?type=${type}&order=desc&limit=1`), ({ items: [event] }) => event),
  }
})
