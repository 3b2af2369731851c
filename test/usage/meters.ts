/** Meters and accounts for tests of rules. */
import { BigDecimal } from "effect"
import { accountOf, periodFor } from "../../src/domains/usage/ledger/Account.ts"
import type { Account } from "../../src/domains/usage/ledger/Account.ts"
import type { Meter } from "../../src/domains/usage/ledger/Model.ts"
import { emptyTotal } from "../../src/domains/usage/rules/Aggregation.ts"
import type { Total } from "../../src/domains/usage/rules/Aggregation.ts"
import type { Crossings } from "../../src/domains/usage/rules/Limits.ts"
import { organizationIdOf } from "../support/organizationIds.ts"

export const decimal = BigDecimal.fromStringUnsafe

/** The instant at which the license of {@link meterWith} starts. */
export const START = new Date("2026-01-01T00:00:00.000Z")

/** The time that is this many milliseconds after the start of the license. */
export const after = (millis: number): Date => new Date(START.getTime() + millis)

/** A `SUM` per day, of which 10 are granted without overage. */
export const meterWith = (more: Partial<Meter> = {}): Meter => ({
  instance: "prod",
  license: "pro",
  startLicenseDate: START,
  endLicenseDate: null,
  graceDays: 0,
  organizationId: organizationIdOf("o"),
  instanceId: "i",
  entitlementId: "e",
  entitlement: "calls",
  entitlementName: "Calls",
  type: "NUMBER",
  aggregationMethod: "SUM",
  resetPeriod: "DAY",
  resetAnchor: "CALENDAR",
  warningThresholdPercent: null,
  displayOrder: 0,
  grant: { value: decimal("10"), overagePercent: 0 },
  ...more,
})

export const noCrossings: Crossings = { warned: false, limitReached: false, capExceeded: false }

/** The account of a meter's first period, with what is used and held. */
export const accountWith = (
  meter: Meter,
  {
    crossings = noCrossings,
    decidedAt = START,
    held = "0",
    total = {},
    used = "0",
  }: {
    readonly crossings?: Crossings
    readonly decidedAt?: Date
    readonly held?: string
    readonly total?: Partial<Total>
    readonly used?: string
  } = {},
): Account =>
  accountOf(meter, periodFor(meter, START), {
    held: decimal(held),
    allowed: decimal("0"),
    burned: decimal("0"),
    decidedAt,
    total: { ...emptyTotal, value: decimal(used), sum: decimal(used), ...total },
    crossings,
    location: "(0,1)",
    version: "1",
  })
