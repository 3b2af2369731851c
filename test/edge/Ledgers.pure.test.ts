import { assert, describe, it } from "@effect/vitest"
import { makeLedgers } from "../../src/edge/instances/Ledgers.ts"
import type { LedgerHolder } from "../../src/edge/instances/Ledgers.ts"

interface Holder extends LedgerHolder {
  readonly name: string
  isAble: boolean
}

const holderNamed = (name: string): Holder => {
  const holder: Holder = { name, isAble: true, local: {} as Holder["local"], isUsable: () => holder.isAble }
  return holder
}

describe("the ledger of an instance", () => {
  it("has one holder at a time, also when several ask", async () => {
    const ledgers = makeLedgers<Holder>(() => undefined)
    const [one, other] = [holderNamed("one"), holderNamed("other")]
    assert.strictEqual(await ledgers.claim("a", one), one)
    assert.strictEqual(await ledgers.claim("a", other), one)
    assert.strictEqual(await ledgers.claim("b", other), other)
    assert.isFalse(ledgers.isFor("a", other))
    assert.throws(() => ledgers.take("a", other))
    assert.strictEqual(ledgers.holderOf("a"), one)
  })

  it("goes to the next one once its holder has ended", async () => {
    const ledgers = makeLedgers<Holder>(() => undefined)
    const [one, other] = [holderNamed("one"), holderNamed("other")]
    const { promise, resolve } = Promise.withResolvers<void>()
    await ledgers.claim("a", one)
    ledgers.release(one, promise)
    assert.isUndefined(ledgers.holderOf("a"))
    let next: Holder | undefined
    const claimed = ledgers.claim("a", other).then((holder) => (next = holder))
    await Promise.resolve()
    assert.isUndefined(next)
    resolve()
    assert.strictEqual(await claimed, other)
  })

  it("is taken from a holder that cannot use it any more", async () => {
    const ended: Array<string> = []
    const ledgers = makeLedgers<Holder>((holder) => {
      ended.push(holder.name)
      ledgers.release(holder, Promise.resolve())
    })
    const [one, other] = [holderNamed("one"), holderNamed("other")]
    await ledgers.claim("a", one)
    one.isAble = false
    assert.isUndefined(ledgers.holderOf("a"))
    assert.strictEqual(await ledgers.claim("a", other), other)
    assert.deepStrictEqual(ended, ["one"])
  })
})
