/** A site that writes ledgers with the published module, and the service that takes them. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { createHash, randomUUID } from "node:crypto"
import { OfflineLedgers } from "../../src/domains/offline/ledgers/Service.ts"
import { DAY_MS } from "../../src/kernel/values/Timestamp.ts"
import { openLedger } from "../../src/offline/index.ts"
import type { LedgerEvent, LedgerPosition } from "../../src/offline/index.ts"
import { at, inDays, iso, openSite } from "./Site.ts"

export const sha256 = (text: string): string => createHash("sha256").update(text).digest("base64url")

export const newSource = (): string => `urn:keyshelf:ledger:${randomUUID()}`

/** A line as a site makes it. `time` is in milliseconds. */
export type Use = Pick<LedgerEvent, "type" | "value"> & Partial<Omit<LedgerEvent, "time">> & { readonly time?: number }

/** The lines of uses, from a position on. */
export const linesOf = (
  source: string,
  uses: ReadonlyArray<Use>,
  defaults: { readonly bundleId: string; readonly time: number },
  stored?: LedgerPosition,
): Effect.Effect<ReadonlyArray<string>> =>
  Effect.promise(async () => {
    const ledger = await openLedger(source, { stored })
    if (ledger.status !== "OPEN") return assert.fail(ledger.status)
    const lines: Array<string> = []
    for (const { time = defaults.time, ...use } of uses) {
      const answer = await ledger.append({ subject: "prod", bundleId: defaults.bundleId, time: iso(time), ...use })
      lines.push(answer.status === "APPENDED" ? answer.line : assert.fail(answer.status))
    }
    return lines
  })

/** Replaces parts of each line and chains the lines again, as a site that writes them so itself. */
export const rewritten = (
  source: string,
  lines: ReadonlyArray<string>,
  change: (event: Record<string, unknown>) => object,
): ReadonlyArray<string> => {
  let head = sha256(source)
  return lines.map((line) => {
    const text = JSON.stringify({ ...change(JSON.parse(line)), prevhash: head })
    head = sha256(text)
    return text
  })
}

export const openLedgerSite = Effect.gen(function* () {
  const site = yield* openSite
  const ledgers = yield* OfflineLedgers
  const { asCaller, call, entitlement, grant, sql, organizationId } = site
  const { body: bundle } = yield* site.issue({ ttlSeconds: 90 * 86_400, graceSeconds: 0 })
  const issuedAt = Date.parse(bundle.issuedAt)
  const defaults = { bundleId: String(bundle.id), time: issuedAt + 1_000 }

  return {
    ...site,
    bundle,
    /** When the bundle was issued. */
    issuedAt,
    /** Creates an entitlement that the instance's license grants. */
    metered: Effect.fnUntraced(function* (slug: string, limit: number, more: object = {}, overagePercent = 0) {
      const record = yield* entitlement(slug, more)
      yield* grant("pro", slug, limit, overagePercent)
      return record
    }),
    lines: (source: string, uses: ReadonlyArray<Use>, stored?: LedgerPosition) =>
      linesOf(source, uses, defaults, stored),
    upload: (source: string, lines: ReadonlyArray<string>, more: object = {}) =>
      call("POST", "/instances/prod/offline-usage", { source, lines, ...more }),
    /** Uploads so many days after the issue of the bundle, in process. */
    uploadAfter: (days: number, source: string, lines: ReadonlyArray<string>) =>
      at(issuedAt + days * DAY_MS)(asCaller(ledgers.upload("prod", { source, lines }))),
    used: (slug: string) =>
      Effect.map(call("GET", `/instances/prod/entitlements/${slug}/usage`), ({ body }) => [
        body.usageValue.value,
        body.usageValue.event_count,
      ]),
    /** Usage as it is stored, by period: its start, the value and what ledgers brought of it. */
    stored: (slug: string) =>
      Effect.map(
        sql<{ start: Date; value: string; brought: string | null }>`
          SELECT t.period_start AS start, t.value::text AS value, p.quantity::text AS brought
          FROM usage_totals t
          JOIN entitlements e ON e.organization_id = t.organization_id AND e.id = t.entitlement_id
          LEFT JOIN offline_period_usage p ON p.organization_id = t.organization_id AND p.instance_id = t.instance_id
            AND p.entitlement_id = t.entitlement_id AND p.period_start = t.period_start
          WHERE t.organization_id = ${organizationId} AND e.slug = ${slug} ORDER BY t.period_start`,
        (rows) => rows.map(({ brought, start, value }) => [start.toISOString(), value, brought]),
      ),
    ledgers: Effect.map(call("GET", "/instances/prod/offline-ledgers"), ({ body }) => body.items),
    /** Events of the organization with one of these names, oldest first. */
    eventsOf: (...types: ReadonlyArray<string>) =>
      Effect.map(call("GET", `/events?limit=200&type=${types.join(",")}`), ({ body }) => body.items),
    /** Reserves a quantity of each period for the site, as a bundle that is valid from one day on to another. */
    allow: (entitlementId: string, sequence: number, quantity: number, from = -1, until = 90) =>
      sql`
        INSERT INTO offline_allowances (organization_id, instance_id, entitlement_id, bundle_id, sequence, quantity,
          valid_from, valid_until, open_until)
        VALUES (${organizationId}, ${site.instance.id}, ${entitlementId}, gen_random_uuid(), ${sequence}, ${quantity},
          ${new Date(inDays(from))}, ${new Date(inDays(until))}, ${new Date(inDays(until + 90))})`,
    /** The sequences of allowances that are not ended. */
    openAllowances: Effect.map(
      sql<{ sequence: number }>`
        SELECT sequence FROM offline_allowances WHERE organization_id = ${organizationId} AND ended_at IS NULL
        ORDER BY sequence`,
      (rows) => rows.map(({ sequence }) => sequence),
    ),
  }
})
