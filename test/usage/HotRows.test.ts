/** The rows that hot paths decide on without decoding them. */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { createHash } from "node:crypto"
import { StoredCredential } from "../../src/domains/access/Model.ts"
import { AccessRepo } from "../../src/domains/access/Repo.ts"
import { ResetAnchor, ResetPeriod, EntitlementType } from "../../src/domains/entitlements/Model.ts"
import { AppliedOverride } from "../../src/domains/instances/overrides/Model.ts"
import { CheckBatchRepo } from "../../src/domains/usage/check/hotpath/Repo.ts"
import { OptimisticRepo } from "../../src/domains/usage/ledger/optimistic/OptimisticRepo.ts"
import { GrantedTerms } from "../../src/domains/usage/rules/Grant.ts"
import { CheckedInstance, EntitlementRow } from "../../src/domains/usage/rules/Terms.ts"
import { OrganizationId } from "../../src/kernel/values/Identifiers.ts"
import { commits, hotPath } from "../../src/infra/database/DedicatedConnections.ts"
import { TestService } from "../support/TestService.ts"
import { openMeteredShop } from "./MeteredShop.ts"

const { Date: Instant, Int, NullOr, String: Text, Struct } = Schema

const Exact = Schema.toType(Schema.BigDecimal)

const Versioned = {
  number: Int,
  licenseId: Text,
  catalogVersion: NullOr(Text),
  allowancesUntil: NullOr(Instant),
  hasExtras: Schema.Boolean,
}

const CheckedRow = Struct({
  ...EntitlementRow.fields,
  ...Versioned,
  licenseGraceDays: Int,
  entitlementId: Text,
  aggregationMethod: NullOr(Schema.Literals(["SUM", "CONCURRENT"])),
})

const CheckedUsage = Struct({
  ...Versioned,
  startLicenseDate: Instant,
  endLicenseDate: NullOr(Instant),
  graceDays: NullOr(Int),
  overrides: NullOr(Schema.Record(Text, AppliedOverride)),
  used: Text,
  held: NullOr(Text),
})

const CountedMeter = Struct({
  ...CheckedInstance.fields,
  ...GrantedTerms.fields,
  organizationId: OrganizationId,
  instanceId: Text,
  entitlementId: Text,
  entitlement: Text,
  entitlementName: Text,
  type: EntitlementType,
  aggregationMethod: NullOr(Schema.Literals(["SUM", "CONCURRENT"])),
  resetPeriod: NullOr(ResetPeriod),
  resetAnchor: NullOr(ResetAnchor),
  warningThresholdPercent: NullOr(Int),
  displayOrder: Int,
  grant: Struct({ value: Exact, overagePercent: Int }),
})

const CountedTotal = Struct({
  instanceId: Text,
  entitlementId: Text,
  periodStart: Instant,
  total: Struct({
    value: Exact,
    sum: Exact,
    eventCount: Int,
    voidedCount: Int,
    valueCount: Int,
    setAt: NullOr(Instant),
    latestAt: NullOr(Instant),
    lastAt: NullOr(Instant),
  }),
  crossings: Struct({ warned: Schema.Boolean, limitReached: Schema.Boolean, capExceeded: Schema.Boolean }),
  location: Text,
  version: Text,
  held: Exact,
  decidedAt: Instant,
})

const Snapshot = Struct({ meter: CountedMeter, total: NullOr(CountedTotal) })

/** Decodes rows and returns how many they are. Unless it ignores them, none may have another column. */
const decodedCount = <A, I>(
  row: Schema.Codec<A, I>,
  rows: ReadonlyArray<unknown>,
  onExcessProperty: "error" | "ignore" = "error",
) => Effect.map(Schema.decodeUnknownEffect(Schema.Array(row))(rows, { onExcessProperty }), ({ length }) => length)

const services = Layer.mergeAll(
  CheckBatchRepo.layer.pipe(Layer.provide(hotPath)),
  OptimisticRepo.layer.pipe(Layer.provide(commits)),
).pipe(Layer.provideMerge(TestService.layer))

layer(services, { excludeTestServices: true })("rows that hot paths do not decode", (it) => {
  it.effect("have the form of credentials", () =>
    Effect.gen(function* () {
      const { tenant } = yield* TestService
      const { token } = yield* tenant()
      const repo = yield* AccessRepo
      const byHash = yield* repo.findByLookupHashes([createHash("sha256").update(token).digest("hex")])
      assert.strictEqual(yield* decodedCount(StoredCredential, byHash), 1)
      const byId = yield* repo.findByIds(byHash.map(({ id }) => id))
      assert.strictEqual(yield* decodedCount(StoredCredential, byId), 1)
    }),
  )

  it.effect("have the form of checks and of meters, with an override, usage, a reservation and without any", () =>
    Effect.gen(function* () {
      const { call, instance, metered, report, tenant } = yield* openMeteredShop
      const used = yield* metered("calls", 100, { resetPeriod: "MONTH", resetAnchor: "CALENDAR" })
      yield* metered("builds", 10)
      yield* report("calls", { value: 1.5 })
      yield* call("POST", "/instances/prod/entitlements/calls/reservations", { quantity: 2 })
      const override = { mode: "ADD", value: 5, reason: "Trial" }
      assert.isBelow((yield* call("PUT", "/instances/prod/entitlements/calls/override", override)).status, 300)
      const { organizationId } = tenant
      const at = new Date()
      const [checks, ledger] = [yield* CheckBatchRepo, yield* OptimisticRepo]
      const entitlements = ["calls", "builds"]
      const question = { organizationId, instance: "prod", entitlements, at, known: at }
      for (const within of [organizationId, null]) {
        const rows = yield* checks.findWithCatalog([question], within)
        assert.strictEqual(yield* decodedCount(CheckedRow, rows), 2)
      }
      const periodStart = new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), 1)).toISOString()
      const wanted = JSON.stringify({ organizationId, instance: "prod", entitlementIds: [used.id], periodStart })
      const usage = yield* checks.findUsage([{ wanted, at, known: at }])
      assert.strictEqual(yield* decodedCount(CheckedUsage, usage), 1)
      const meters = entitlements.map((entitlement) => ({ organizationId, instance: "prod", entitlement }))
      const snapshots = yield* ledger.read(meters, at)
      assert.deepStrictEqual(
        snapshots.map(({ meter, total }) => [meter.instanceId, total?.instanceId]),
        [
          [instance.id, instance.id],
          [instance.id, undefined],
        ],
      )
      assert.strictEqual(yield* decodedCount(Snapshot, snapshots, "ignore"), 2)
    }),
  )
})
