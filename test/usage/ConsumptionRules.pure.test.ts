import { assert, describe, it } from "@effect/vitest"
import { BigDecimal } from "effect"
import { consumeValidationError, decideConsumption, isMetered } from "../../src/domains/usage/check/ConsumptionRules.ts"
import { accountName } from "../../src/domains/usage/ledger/Account.ts"
import type { Account } from "../../src/domains/usage/ledger/Account.ts"
import type { Meter } from "../../src/domains/usage/ledger/Model.ts"
import { platformIdentity } from "../../src/kernel/contract/Caller.ts"
import { accountWith, after, meterWith, START } from "./meters.ts"

const at = after(1)
const calls = meterWith()
const counted = meterWith({ entitlement: "jobs", entitlementId: "j", aggregationMethod: "COUNT" })
const ungranted = meterWith({ entitlement: "none", entitlementId: "n", grant: null })
const flag = meterWith({
  entitlement: "sso",
  entitlementId: "s",
  type: "BOOLEAN",
  aggregationMethod: null,
  grant: { value: true, overagePercent: 0 },
})
const meters = new Map([calls, counted, ungranted, flag].map((meter) => [meter.entitlement, meter]))
const facts = { version: "1", family: "pro", lifecycleState: "PUBLISHED" } as const

const accountsOf = (...accounts: ReadonlyArray<Account>) =>
  new Map(accounts.map((account) => [accountName({ meter: account.meter, at }), account]))

const consume = (
  checks: ReadonlyArray<{ readonly entitlement: string; readonly requested?: number }>,
  { explain = false, opened = accountsOf(accountWith(calls), accountWith(counted), accountWith(ungranted)) } = {},
) => {
  const { accounts, result } = decideConsumption({ checks, explain, instance: { ...calls, facts }, meters }, opened, {
    actor: platformIdentity,
    at,
  })
  const accountOf = (meter: Meter) => accounts.get(accountName({ meter, at }))
  return {
    result,
    accountOf,
    usedOf: (meter: Meter) => BigDecimal.format(accountOf(meter)?.total.value ?? BigDecimal.fromBigInt(-1n)),
  }
}

const shown = ({ result }: ReturnType<typeof consume>) =>
  result.checks.map(({ allowed, reason, remaining, usage }) => [allowed, reason, usage, remaining])

describe("a check that consumes", () => {
  it("consumes all items, up to the limit, and shows what is used afterwards", () => {
    const done = consume([
      { entitlement: "calls", requested: 6 },
      { entitlement: "sso" },
      { entitlement: "calls", requested: 4 },
    ])
    assert.deepStrictEqual(shown(done), [
      [true, "GRANTED", 10, 0],
      [true, "GRANTED", null, null],
      [true, "GRANTED", 10, 0],
    ])
    assert.lengthOf(done.accountOf(calls)?.events ?? [], 2)
  })

  it("consumes nothing if one item is denied, marks the cap of that one alone, and shows what was used before", () => {
    const opened = accountsOf(accountWith(calls, { used: "1", held: "2" }), accountWith(counted, { used: "3" }))
    const done = consume([{ entitlement: "jobs" }, { entitlement: "calls", requested: 8 }], { opened })
    assert.deepStrictEqual(shown(done), [
      [true, "GRANTED", 3, 7],
      [false, "LIMIT_REACHED", 1, 7],
    ])
    assert.deepStrictEqual(done.accountOf(calls)?.crossings, { warned: false, limitReached: false, capExceeded: true })
    assert.isFalse(done.accountOf(counted)?.crossings.capExceeded)
    assert.lengthOf(done.accountOf(counted)?.events ?? [], 0)
  })

  it("marks no cap if an item is denied for another reason", () => {
    const done = consume([{ entitlement: "none" }, { entitlement: "calls" }, { entitlement: "unknown" }])
    assert.deepStrictEqual(shown(done), [
      [false, "NOT_GRANTED", 0, null],
      [true, "GRANTED", 0, 10],
      [false, "ENTITLEMENT_NOT_FOUND", null, null],
    ])
    assert.isFalse(done.accountOf(ungranted)?.crossings.capExceeded)
    assert.strictEqual(done.usedOf(calls), "0")
  })

  it("counts one for a COUNT, whatever is requested, and one if nothing is said", () => {
    const done = consume([{ entitlement: "jobs", requested: 5 }, { entitlement: "calls" }])
    assert.deepStrictEqual([done.usedOf(counted), done.usedOf(calls)], ["1", "1"])
  })

  it("posts no event for an amount of 0", () => {
    const { accountOf } = consume([{ entitlement: "calls", requested: 0 }])
    assert.deepStrictEqual(accountOf(calls)?.events, [])
  })

  it("decides on nothing used where no account is open", () => {
    assert.deepStrictEqual(shown(consume([{ entitlement: "calls", requested: 4 }], { opened: new Map() })), [
      [true, "GRANTED", 0, 10],
    ])
    assert.deepStrictEqual(shown(consume([{ entitlement: "calls", requested: 11 }], { opened: new Map() })), [
      [false, "LIMIT_REACHED", 0, 10],
    ])
  })

  it("is explained only if that is requested", () => {
    assert.notProperty(consume([{ entitlement: "calls" }]).result.checks[0], "explanation")
    assert.property(consume([{ entitlement: "calls" }], { explain: true }).result.checks[0], "explanation")
    const { result } = decideConsumption(
      { checks: [{ entitlement: "calls" }], explain: true, instance: calls, meters },
      new Map(),
      { actor: platformIdentity, at: START },
    )
    assert.notProperty(result.checks[0], "explanation")
  })
})

describe("the items of a check that consumes", () => {
  const digits = 1e18
  const errorOf = (meter: Meter, requested?: number) => {
    const checks = [
      { entitlement: "unknown", requested: digits },
      { entitlement: meter.entitlement, requested },
    ]
    const sent = checks.map(({ entitlement, requested }) => ({
      entitlement,
      ...(requested === undefined ? {} : { requested }),
    }))
    return consumeValidationError(sent, new Map([[meter.entitlement, meter]]))?.errors[0]
  }

  it("are amounts that can be consumed, of at most 18 digits", () => {
    assert.isUndefined(errorOf(calls))
    assert.isUndefined(errorOf(calls, 999_999_999_999_999))
    assert.deepInclude(errorOf(calls, digits), { location: "body.checks[1].requested" })
    assert.isUndefined(errorOf(counted, digits), "a COUNT counts the request")
    assert.isUndefined(errorOf(flag, digits), "a BOOLEAN has no amount")
    assert.isTrue(isMetered(calls))
    assert.isFalse(isMetered(flag))
    assert.isFalse(isMetered(undefined))
  })

  it.each([
    ["MAX", "cannot be consumed, because its aggregation is MAX; report its usage instead"],
    ["CONCURRENT", "cannot be consumed, because its aggregation is CONCURRENT; acquire a lease instead"],
  ] as const)("are no %s", (aggregationMethod, message) => {
    assert.deepInclude(errorOf(meterWith({ aggregationMethod }), 1), {
      location: "body.checks[1].entitlement",
      message,
    })
  })
})
