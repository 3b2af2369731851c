/** Holders of tranches: products that write ledgers with the published module, and the service that settles them. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { InstanceTranches } from "../../../src/domains/offline/tranches/Service.ts"
import type { LedgerPosition } from "../../../src/offline/index.ts"
import { linesOf, newSource, sha256 } from "../../offline-bundles/LedgerSite.ts"
import type { Use } from "../../offline-bundles/LedgerSite.ts"
import { at, openSite, payloadOf } from "../../offline-bundles/Site.ts"
import type { HttpResponse } from "../../support/TestService.ts"

const BUNDLE = "0198c2b1-1111-7000-8000-000000000007"

/** What a refill asks for, but its source and lines. */
interface Asked {
  readonly tranches?: ReadonlyArray<object>
  readonly close?: boolean
}

export const openTrancheShop = Effect.gen(function* () {
  const site = yield* openSite
  const service = yield* InstanceTranches
  const { asCaller, call, entitlement, grant, sql, tenant } = site
  const { organizationId } = tenant
  const path = "/instances/prod/tranches"

  /** A product with a ledger of its own. What it spends is settled by its next refill. */
  const holder = (source = newSource()) => {
    let lines: ReadonlyArray<string> = []
    let written: LedgerPosition = { lines: 0, head: sha256(source) }
    let settled = 0
    const append = Effect.fnUntraced(function* (uses: ReadonlyArray<Use>, time = Date.now()) {
      const more = yield* linesOf(source, uses, { bundleId: BUNDLE, time }, written)
      lines = [...lines, ...more]
      written = { lines: lines.length, head: sha256(lines.at(-1) ?? source) }
    })
    const bodyOf = (asked: Asked) => ({ source, lines: lines.slice(settled), ...asked })
    return {
      source,
      append,
      spend: (type: string, value: number | string, time?: number) => append([{ type, value }], time),
      position: () => written,
      /** Takes lines for not settled, because the response to them was lost. */
      unsettle: (count: number) => {
        settled = count
      },
      settled: () => settled,
      body: bodyOf,
      /** Sends what was not settled. The response may be lost: then the lines are sent again. */
      refill: (asked: Asked = {}, isLost = false) =>
        Effect.map(call("POST", path, bodyOf(asked)), (response: HttpResponse) => {
          if (response.status === 200 && !isLost) settled = response.body.lines
          return response
        }),
      /** The same in process, at another time than now. */
      refillAt: (millis: number, asked: Asked = {}) =>
        Effect.map(
          at(millis)(asCaller(service.refill("prod", bodyOf(asked) as Parameters<typeof service.refill>[1]))),
          (response) => {
            settled = response.lines
            return response
          },
        ),
    }
  }

  return {
    ...site,
    holder,
    path,
    metered: Effect.fnUntraced(function* (slug: string, limit: number, more: object = {}, overagePercent = 0) {
      const record = yield* entitlement(slug, more)
      yield* grant("pro", slug, limit, overagePercent)
      return record
    }),
    consume: (slug: string, requested: number) =>
      Effect.map(
        call("POST", "/instances/prod/check", { checks: [{ entitlement: slug, requested }], consume: true }),
        ({ body }) => body.checks[0].allowed as boolean,
      ),
    /** What is used, and what is held. */
    standing: (slug: string) =>
      Effect.map(
        call("POST", "/instances/prod/check", { checks: [{ entitlement: slug }], explain: true }),
        ({ body }) => [body.checks[0].usage, body.checks[0].explanation.held],
      ),
    eventsOf: (...types: ReadonlyArray<string>) =>
      Effect.map(call("GET", `/events?limit=200&type=${types.join(",")}`), ({ body }) => body.items),
    rows: (slug: string) =>
      sql<{ id: string; quantity: string; state: string; createdAt: Date }>`
        SELECT r.id, r.quantity::text AS quantity, r.state, r.created_at AS "createdAt" FROM usage_reservations r
        JOIN entitlements e ON e.organization_id = r.organization_id AND e.id = r.entitlement_id
        WHERE r.organization_id = ${organizationId} AND e.slug = ${slug} AND r.ledger IS NOT NULL ORDER BY r.id`,
  }
})

/** The unspent amount and whether the need is satisfied, of each tranche of a response. */
export const outcomes = (response: HttpResponse): ReadonlyArray<readonly [unspent: string, satisfied: boolean]> => {
  assert.strictEqual(response.status, 200, response.text)
  return response.body.tranches.map(({ satisfied, unspent }: { satisfied: boolean; unspent: string }) => [
    unspent,
    satisfied,
  ])
}

/** The claim of a response. */
export const claimOf = (response: HttpResponse) => payloadOf(response.body.snapshot).tranche
