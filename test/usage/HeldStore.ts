/** Stores histories of what is held. */
import { PgClient } from "@effect/sql-pg"
import { BigDecimal, Context, Effect, Layer } from "effect"
import { randomUUID } from "node:crypto"
import { LEDGER_SOURCE } from "../../src/domains/usage/cloudevents/Model.ts"
import { createShop } from "../instances/Shop.ts"
import { licenseStart, meters, periodsAround, textOf } from "./HeldHistories.ts"
import type { HeldFacts } from "./HeldHistories.ts"

/** A shop whose two instances have a history: `earlier` as it was at the instant of the history, and `today`. */
const openHeldShop = Effect.gen(function* () {
  const shop = yield* createShop
  const sql = yield* PgClient.PgClient
  const { organizationId } = shop.tenant
  const license = yield* shop.license("pro")
  yield* shop.license("extra", { type: "ADD_ON" })
  yield* shop.customer("Acme")
  const ids = new Map<string, string>()
  for (const { slug, ...more } of meters) {
    const record = yield* shop.entitlement(slug, more)
    ids.set(slug, record.id)
    yield* shop.grant("pro", slug, 1000)
    yield* shop.grant("extra", slug, 10)
  }
  const terms = { startLicenseDate: licenseStart.toISOString(), endLicenseDate: null }
  const instances = {
    earlier: String((yield* shop.instance("Earlier", "acme", "pro", terms)).id),
    today: String((yield* shop.instance("Today", "acme", "pro", terms)).id),
  }
  yield* sql`UPDATE instances SET created_at = ${licenseStart} WHERE organization_id = ${organizationId}`
  const idOf = (slug: string): string => ids.get(slug) ?? ""
  const slugOf = new Map(Array.from(ids, ([slug, id]) => [id, slug] as const))
  const bySlug = <A>(rows: ReadonlyArray<readonly [entitlementId: string, found: A]>): ReadonlyMap<string, A> =>
    new Map(rows.map(([id, found]) => [slugOf.get(id) ?? "", found]))
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
    // What was brought of the period before must not count in this one. Tranches refer to the total of their period.
    const around = (side: "before" | "next") =>
      all.flatMap((facts) =>
        facts.period.end === null
          ? []
          : [{ ...keyOf(facts), period_start: periodsAround(facts.meter, facts.period.start)[side].start }],
      )
    const before = around("before")
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
      ...around("next").map((key) => ({
        ...key,
        value: 0,
        sum: 0,
        event_count: 0,
        value_count: 0,
        last_at: null,
        // Nothing was decided on it yet.
        decided_at: licenseStart,
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
      rowsOf(({ reservations }) => reservations).map(([facts, { created, ended, expires, of, quantity }]) => ({
        ...keyOf(facts),
        period_start: of ?? facts.period.start,
        ledger: of === undefined ? null : `${LEDGER_SOURCE}${randomUUID()}`,
        spend_until: of === undefined ? null : expires,
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

  /** Gives both instances an add-on, or removes it. */
  const extend = (isExtended: boolean) =>
    Effect.forEach(["earlier", "today"], (slug) =>
      isExtended
        ? shop.call("PUT", `/instances/${slug}/add-ons/extra`, { quantity: 2 })
        : shop.call("DELETE", `/instances/${slug}/add-ons/extra`),
    )

  return { organizationId, licenseId: String(license.id), instances, idOf, bySlug, store, extend }
})

/** The shop of a test. */
export class HeldShop extends Context.Service<HeldShop, Effect.Success<typeof openHeldShop>>()(
  "keyshelf/test/HeldShop",
) {
  static readonly layer = Layer.effect(HeldShop, openHeldShop)
}
