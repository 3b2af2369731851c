/** Stores histories of what is held, and reads them through every reader. */
import { PgClient } from "@effect/sql-pg"
import { BigDecimal, Context, Effect, Layer } from "effect"
import { randomUUID } from "node:crypto"
import { makeCatalogCache } from "../../src/domains/usage/check/hotpath/CatalogCache.ts"
import { CheckBatchRepo } from "../../src/domains/usage/check/hotpath/Repo.ts"
import { PastRepo } from "../../src/domains/usage/check/PastRepo.ts"
import { CheckRepo } from "../../src/domains/usage/check/Repo.ts"
import { LEDGER_SOURCE } from "../../src/domains/usage/cloudevents/Model.ts"
import { CloudEventsRepo } from "../../src/domains/usage/cloudevents/Repo.ts"
import { ImpactRepo } from "../../src/domains/usage/impact/Repo.ts"
import { LedgerRepo } from "../../src/domains/usage/ledger/LedgerRepo.ts"
import { heldOf } from "../../src/domains/usage/ledger/HeldSql.ts"
import { OptimisticRepo } from "../../src/domains/usage/ledger/optimistic/OptimisticRepo.ts"
import { checkBasisOf } from "../../src/domains/usage/rules/CheckBasis.ts"
import type { CheckBasis } from "../../src/domains/usage/rules/CheckBasis.ts"
import type { CheckRow } from "../../src/domains/usage/rules/Terms.ts"
import { Transactions } from "../../src/kernel/database/Transactions.ts"
import { createShop } from "../instances/Shop.ts"
import { licenseStart, meters, periodOf, textOf } from "./HeldHistories.ts"
import type { HeldFacts, HeldMeter } from "./HeldHistories.ts"

/** What a reader found, by the slug of the meter. */
export type Found = ReadonlyMap<string, string>

const slugs = meters.map(({ slug }) => slug)
const decimalText = (text: string | null | undefined): string => textOf(BigDecimal.fromStringUnsafe(text ?? "0"))
const heldIn = (basis: CheckBasis | undefined): Found =>
  new Map(slugs.map((slug, index) => [slug, textOf(basis?.bases[index]?.held ?? BigDecimal.fromNumberUnsafe(-1))]))

/** The period after this one; for a meter that never resets, this one. */
export const periodAfter = (meter: HeldMeter, at: Date) => {
  const period = periodOf(meter, at)
  return period.end === null ? period : periodOf(meter, period.end)
}

/** A shop whose two instances have a history: `earlier` as it was at the instant of the history, and `today`. */
const openHeldShop = Effect.gen(function* () {
  const shop = yield* createShop
  const sql = yield* PgClient.PgClient
  const { organizationId } = shop.tenant
  const license = yield* shop.license("pro")
  yield* shop.customer("Acme")
  const ids = new Map<string, string>()
  for (const { slug, ...more } of meters) {
    const record = yield* shop.entitlement(slug, more)
    ids.set(slug, record.id)
    yield* shop.grant("pro", slug, 1000)
  }
  const terms = { startLicenseDate: licenseStart.toISOString(), endLicenseDate: null }
  const instances = {
    earlier: String((yield* shop.instance("Earlier", "acme", "pro", terms)).id),
    today: String((yield* shop.instance("Today", "acme", "pro", terms)).id),
  }
  yield* sql`UPDATE instances SET created_at = ${licenseStart} WHERE organization_id = ${organizationId}`
  const idOf = (slug: string): string => ids.get(slug) ?? ""
  const slugOf = new Map(Array.from(ids, ([slug, id]) => [id, slug] as const))
  const foundOf = (rows: ReadonlyArray<readonly [entitlementId: string, quantity: string]>): Found =>
    new Map(rows.map(([id, quantity]) => [slugOf.get(id) ?? "", decimalText(quantity)]))
  const insert = (table: string, rows: ReadonlyArray<Record<string, unknown>>) => {
    const [first, ...others] = rows
    return first === undefined
      ? Effect.void
      : sql`INSERT INTO ${sql(table)} ${sql.insert([{ organization_id: organizationId, ...first }, ...others.map((row) => ({ organization_id: organizationId, ...row }))])}`
  }

  /** Replaces what is stored for an instance. */
  const store = Effect.fnUntraced(function* (
    instance: keyof typeof instances,
    all: ReadonlyArray<HeldFacts>,
    decidedAt: Date,
  ) {
    const instance_id = instances[instance]
    const rowsOf = <Row>(rowsIn: (facts: HeldFacts) => ReadonlyArray<Row>) =>
      all.flatMap((facts) => rowsIn(facts).map((row) => [facts, row] as const))
    const keyOf = ({ meter, period }: HeldFacts) => ({
      instance_id,
      entitlement_id: idOf(meter.slug),
      period_start: period.start,
    })
    for (const table of ["usage_events", "usage_totals", "offline_allowances"]) {
      yield* sql`DELETE FROM ${sql(table)} WHERE organization_id = ${organizationId} AND instance_id = ${instance_id}`
    }
    const totals = all.map((facts) => {
      const quantities = facts.brought.map(({ quantity }) => quantity)
      const last = facts.brought.map(({ timestamp }) => timestamp.getTime())
      return {
        ...keyOf(facts),
        value: textOf(BigDecimal.sumAll(quantities)),
        sum: textOf(BigDecimal.sumAll(quantities)),
        event_count: quantities.length,
        value_count: quantities.length,
        last_at: last.length === 0 ? null : new Date(Math.max(...last)),
        decided_at: decidedAt,
      }
    })
    // What was brought of the period before must not count in this one.
    const before = all.flatMap((facts) =>
      facts.period.end === null
        ? []
        : [{ ...keyOf(facts), period_start: periodOf(facts.meter, new Date(facts.period.start.getTime() - 1)).start }],
    )
    yield* insert("usage_totals", [
      ...totals,
      ...before.map((key) => ({
        ...key,
        value: 9,
        sum: 9,
        event_count: 1,
        value_count: 1,
        last_at: key.period_start,
        decided_at: decidedAt,
      })),
    ])
    yield* insert("offline_period_usage", [
      ...totals
        .filter(({ event_count }) => event_count > 0)
        .map(({ entitlement_id, period_start, value }) => ({
          instance_id,
          entitlement_id,
          period_start,
          quantity: value,
        })),
      ...before.map((key) => ({ ...key, quantity: 9 })),
    ])
    yield* insert(
      "usage_events",
      all.flatMap((facts) =>
        facts.brought.map(({ quantity, timestamp }, index) => ({
          ...keyOf(facts),
          ordinal: index + 1,
          timestamp,
          behavior: "append",
          value: textOf(quantity),
          reported_at: timestamp,
          reported_by: "{}",
          source: `${LEDGER_SOURCE}${randomUUID()}`,
        })),
      ),
    )
    yield* insert(
      "usage_reservations",
      rowsOf(({ reservations }) => reservations).map(([facts, { created, ended, expires, quantity }]) => ({
        ...keyOf(facts),
        id: randomUUID(),
        quantity: textOf(quantity),
        state: ended === null ? "HELD" : "RELEASED",
        created_at: created,
        created_by: "{}",
        expires_at: expires,
        ended_at: ended,
      })),
    )
    yield* insert(
      "offline_allowances",
      rowsOf(({ allowances }) => allowances).map(([{ meter }, { ended, from, open, quantity, until }], index) => ({
        instance_id,
        entitlement_id: idOf(meter.slug),
        bundle_id: randomUUID(),
        sequence: index + 1,
        quantity: textOf(quantity),
        valid_from: from,
        valid_until: until,
        open_until: open,
        ended_at: ended,
      })),
    )
    yield* sql`UPDATE instances SET allowances_until = (
        SELECT max(open_until) FROM offline_allowances WHERE organization_id = ${organizationId} AND instance_id = ${instance_id}
      ) WHERE organization_id = ${organizationId} AND id = ${instance_id}`
  })

  return { organizationId, licenseId: String(license.id), instances, idOf, foundOf, store }
})

/** The shop of a test. */
export class HeldShop extends Context.Service<HeldShop, Effect.Success<typeof openHeldShop>>()(
  "keyshelf/test/HeldShop",
) {
  static readonly layer = Layer.effect(HeldShop, openHeldShop)
}

/** Every reader of what is held, of the instance `earlier` at an instant or, where it reads the past, of the instance `today`. */
export const readersOf = Effect.fnUntraced(function* ({
  foundOf,
  idOf,
  instances,
  licenseId,
  organizationId,
}: HeldShop["Service"]) {
  const [single, batched, impact] = [yield* CheckRepo, yield* CheckBatchRepo, yield* ImpactRepo]
  const [pastRepo, ledger, optimistic, events] = [
    yield* PastRepo,
    yield* LedgerRepo,
    yield* OptimisticRepo,
    yield* CloudEventsRepo,
  ]
  const transactions = yield* Transactions
  const sql = yield* PgClient.PgClient
  const basisOf = (rows: ReadonlyArray<CheckRow>, at: Date) => heldIn(checkBasisOf(rows, slugs, at))
  const lockedAt = (at: Date, periodsOf: (meter: HeldMeter, at: Date) => ReturnType<typeof periodOf>) =>
    Effect.map(
      transactions.run(
        ledger.lockTotals(
          organizationId,
          meters.map((meter) => {
            const { end, start } = periodsOf(meter, at)
            return {
              instanceId: instances.earlier,
              entitlementId: idOf(meter.slug),
              periodStart: start,
              periodEnd: end,
            }
          }),
          at,
        ),
      ),
      (rows) => foundOf(rows.map(({ entitlementId, held }) => [entitlementId, textOf(held)])),
    )

  return {
    /** A single check, as one with an explanation is. */
    single: (at: Date, known: Date) =>
      Effect.map(single.findForCheck(organizationId, "earlier", slugs, { at, known }), (rows) => basisOf(rows, at)),
    standings: (at: Date, known: Date) =>
      Effect.map(single.findStandings(organizationId, "earlier", null, { at, known }), (rows) => basisOf(rows, at)),
    impact: (at: Date, known: Date) =>
      Effect.map(
        impact.checked(organizationId, [instances.earlier], { licenseIds: [licenseId] }, { at, known }),
        (rows) => basisOf(rows, at),
      ),
    /** Batched checks: with their catalog, and then with their usage only. */
    batched: Effect.fnUntraced(function* (at: Date, known: Date) {
      const catalogs = makeCatalogCache()
      const question = { organizationId, instance: "earlier", entitlements: slugs, at, known }
      const rows = yield* batched.findWithCatalog([question], null)
      const within = yield* batched.findWithCatalog([question], organizationId)
      catalogs.learn(question, rows)
      const query = catalogs.usageQueryOf(question)
      if (query === undefined) return yield* Effect.die(new Error("The catalog was not cached"))
      const usage = yield* batched.findUsage(query.questions.map((wanted) => ({ wanted, at, known })))
      return {
        withCatalog: basisOf(rows, at),
        within: basisOf(within, at),
        usageOnly: heldIn(catalogs.basisOf(query, "earlier", usage, at)),
      }
    }),
    past: Effect.fnUntraced(function* (at: Date) {
      const rows = yield* pastRepo.findTerms(organizationId, "today", slugs, at, false)
      const keys = meters.map((meter) => ({
        instanceId: instances.today,
        entitlementId: idOf(meter.slug),
        periodStart: periodOf(meter, at).start,
        method: "SUM" as const,
      }))
      const used = new Map(
        (yield* pastRepo.usageUntil(organizationId, keys, at)).map((usage) => [usage.entitlementId, usage]),
      )
      return basisOf(
        rows.map((row): CheckRow =>
          row.entitlement === null ? row : { broughtIn: null, ...row, ...used.get(row.entitlementId) },
        ),
        at,
      )
    }),
    optimistic: (at: Date) =>
      Effect.map(
        optimistic.read(
          slugs.map((entitlement) => ({ organizationId, instance: "earlier", entitlement })),
          at,
        ),
        (rows) =>
          foundOf(
            rows.flatMap(({ meter, total }) => {
              const own = meters.find(({ slug }) => slug === meter.entitlement)
              return own !== undefined && total?.periodStart.getTime() === periodOf(own, at).start.getTime()
                ? [[meter.entitlementId, textOf(total.held)] as const]
                : []
            }),
          ),
      ),
    /** The functions of the database. */
    functions: Effect.fnUntraced(function* (at: Date, known: Date, decidedAt: Date) {
      const decided = decidedAt > at ? decidedAt : at
      const rows = yield* Effect.forEach(meters, (meter) => {
        const { end, start } = periodOf(meter, at)
        const key = sql`${organizationId}::uuid, ${instances.earlier}::uuid, ${idOf(meter.slug)}::uuid`
        const period = sql`${start}::timestamptz, ${end}::timestamptz`
        return sql<Record<"locked" | "cached" | "offline" | "sharded", string>>`
          SELECT usage_held(${key}, ${period}, ${decided}::timestamptz)::text AS locked,
            offline_held(${key}, ${period}, ${at}::timestamptz)::text AS offline,
            (held_with_allowances(${organizationId}::uuid, ${instances.earlier}::uuid, ARRAY[${idOf(meter.slug)}::uuid], ${start}::timestamptz,
              ${at}::timestamptz, ${known}::timestamptz)::numeric[])[1]::text AS cached,
            (${heldOf(sql, sql`${organizationId}`, { instance: "t.instance", entitlement: "t.entitlement", begins: "t.begins", ends: "t.ends", at: "t.at" })})::text AS sharded
          FROM (VALUES (${instances.earlier}::uuid, ${idOf(meter.slug)}::uuid, ${start}::timestamptz, coalesce(${end}::timestamptz, 'infinity'), ${decided}::timestamptz)) AS t (instance, entitlement, begins, ends, at)`.pipe(
          Effect.map(([row]) => [meter, row] as const),
        )
      })
      const of = (name: "locked" | "cached" | "offline" | "sharded") =>
        foundOf(rows.map(([meter, row]) => [idOf(meter.slug), row?.[name] ?? "-1"] as const))
      return { locked: of("locked"), cached: of("cached"), offline: of("offline"), sharded: of("sharded") }
    }),
    locked: (at: Date) => lockedAt(at, periodOf),
    /** The next period, which is locked for what lasts into it. */
    lockedNext: (at: Date) => lockedAt(at, periodAfter),
    /** The most that is held in any period: batches of events are compared with it. */
    mostOfBatch: (at: Date) =>
      Effect.map(events.held(organizationId, [instances.earlier], at), (rows) =>
        foundOf(rows.map(({ entitlementId, quantity }) => [entitlementId, quantity])),
      ),
  }
})
