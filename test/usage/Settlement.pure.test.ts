import { assert, describe, it } from "@effect/vitest"
import { BigDecimal } from "effect"
import { setAccount } from "../../src/domains/usage/ledger/Account.ts"
import type { Account } from "../../src/domains/usage/ledger/Account.ts"
import { usedUp } from "../../src/domains/usage/ledger/burning/MeterCredits.ts"
import type { MeterCredit } from "../../src/domains/usage/ledger/burning/MeterCredits.ts"
import { post } from "../../src/domains/usage/ledger/Posting.ts"
import { platformIdentity } from "../../src/kernel/contract/Caller.ts"
import { accountWith, after, decimal, meterWith, START } from "./meters.ts"

const credit = (id: string, amount: string, more: Partial<MeterCredit> = {}): MeterCredit => ({
  id,
  amount: decimal(amount),
  priority: 50,
  startsAt: START,
  expiresAt: null,
  createdAt: START,
  voidedAt: null,
  used: decimal("0"),
  storedUsed: decimal("0"),
  reserved: decimal("0"),
  later: null,
  ...more,
})

const withCredits = (account: Account, all: ReadonlyArray<MeterCredit>, readFor: Date | null = null): Account => ({
  ...account,
  credits: { all, readFor, uses: [] },
})

const use = (value: string, at = START) =>
  ({
    timestamp: at,
    behavior: "append",
    value: decimal(value),
    uniqueKey: null,
    metadata: null,
    reportedBy: platformIdentity,
  }) as const

const burned = ({ account }: { readonly account: Account }) =>
  account.credits.uses.map(({ credit: id, quantity }) => [id, BigDecimal.format(quantity)])

describe("a posting beside credits", () => {
  it("burns them after the limit, and keeps what each has paid for the next one", () => {
    const first = post(withCredits(accountWith(meterWith()), [credit("a", "2"), credit("b", "5")]), use("11"))
    assert.deepStrictEqual(burned(first), [["a", "1"]])
    const second = post(first.account, use("3"))
    assert.deepStrictEqual(burned(second), [
      ["a", "1"],
      ["a", "1"],
      ["b", "2"],
    ])
    assert.deepStrictEqual(
      usedUp(second.account.credits).map(({ id }) => id),
      ["a"],
    )
    assert.strictEqual(BigDecimal.format(second.account.burned), "4")
    const denied = post(second.account, use("4"))
    assert.deepStrictEqual([denied.rejection, burned(denied).length], ["cap", 3])
  })

  it("needs locks if it may depend on credits of an instant that were not read", () => {
    const read = withCredits(accountWith(meterWith()), [], START)
    assert.isUndefined(post(read, use("10", after(1))).account.isUnsure)
    assert.isTrue(post(read, use("11", after(1))).account.isUnsure)
    assert.isUndefined(post(read, use("11")).account.isUnsure)
    const setAside = { held: decimal("0"), credits: [] }
    assert.isUndefined(post(read, use("10", after(1)), { setAside }).account.isUnsure)
    assert.isTrue(post(read, use("11", after(1)), { setAside }).account.isUnsure)
    const corrected = post({ ...accountWith(meterWith(), { used: "5" }), burned: decimal("1") }, use("-1"), {
      mayLower: true,
    })
    assert.isTrue(corrected.account.isUnsure)
  })

  it("commits no more of a credit than it has, nor of a voided one, whatever was set aside", () => {
    const setAside = { held: decimal("0"), credits: ["a", "b"].map((id) => ({ credit: id, quantity: decimal("4") })) }
    const account = withCredits(accountWith(meterWith(), { used: "10" }), [
      // Another node burned a part of what it took for expired.
      credit("a", "4", { used: decimal("3"), reserved: decimal("4") }),
      credit("b", "4", { reserved: decimal("4"), voidedAt: START }),
    ])
    assert.deepStrictEqual(burned(post(account, use("8"), { setAside })), [["a", "1"]])
  })

  it("is shared by the accounts of a meter, so that no period burns what another one did", () => {
    const meter = meterWith()
    const [one, other] = [accountWith(meter), accountWith(meter)].map((account) =>
      withCredits(account, [credit("a", "1")]),
    ) as [Account, Account]
    const foreign = withCredits(accountWith(meterWith({ instanceId: "other" })), [credit("a", "1")])
    const accounts = new Map([
      ["one", one],
      ["other", other],
      ["foreign", foreign],
    ])
    setAccount(accounts, "one", post(one, use("11")).account)
    assert.strictEqual(post(accounts.get("other") as Account, use("11")).rejection, "cap")
    assert.isUndefined(post(accounts.get("foreign") as Account, use("11")).rejection)
  })
})
