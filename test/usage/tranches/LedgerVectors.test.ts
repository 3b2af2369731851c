/** The vectors of ledgers, with a small client against the service: what the service uses and holds after each step. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { resolve } from "node:path"
import { Consumption } from "../../../src/domains/usage/check/Consumption.ts"
import { Checks } from "../../../src/domains/usage/check/Service.ts"
import { at } from "../../offline-bundles/Site.ts"
import { TestService } from "../../support/TestService.ts"
import { openTrancheShop } from "./TrancheShop.ts"

interface Step {
  readonly do: string
  readonly at: number
  readonly amount?: string
  readonly id?: string
  readonly need?: string
  readonly want?: string
  readonly keep?: string
  readonly response?: "arrives" | "lost"
  readonly stored?: boolean
  readonly loses?: string
}
interface Vector {
  readonly id: string
  readonly kind: string
  readonly given: { readonly limit: string; readonly steps: ReadonlyArray<Step> }
  readonly expected: { readonly steps: ReadonlyArray<object>; readonly spentInAll: string }
}

const file = resolve(import.meta.dirname, "../../../clients/vectors/local-decisions.json")
const vectors: ReadonlyArray<Vector> = JSON.parse(readFileSync(file, "utf8")).cases.filter(
  ({ kind }: Vector) => kind === "ledger",
)

type Shop = Effect.Success<typeof openTrancheShop>
type Holder = ReturnType<Shop["holder"]>

/** What a product knows: its snapshot, what it wrote since, and what it reserved. */
const product = (shop: Shop, start: number) => {
  const open = (): { holder: Holder; own: number; spent: number; unsettled: number; given: number } => ({
    holder: shop.holder(),
    own: 0,
    spent: 0,
    unsettled: 0,
    given: 0,
  })
  let client = open()
  /** What was spent, and is in no line yet. */
  let unwritten = 0
  let last: object = {}
  /** The second from which on nothing may be spent. */
  let until = Number.POSITIVE_INFINITY
  const reserved = new Map<string, number>()
  const reservedInAll = () => [...reserved.values()].reduce((sum, amount) => sum + amount, 0)
  const unspent = (seconds = 0) =>
    seconds >= until ? 0 : Math.max(0, client.own - client.spent - client.given - reservedInAll())
  const take = (amount: number) => {
    client.spent += amount
    client.unsettled += amount
    unwritten += amount
  }
  const arrived = (response: { tranches: ReadonlyArray<{ satisfied: boolean; unspent: string }> }, sent: number) => {
    const [tranche] = response.tranches
    Object.assign(client, { own: Number(tranche?.unspent), spent: client.spent - sent, given: 0 })
    client.unsettled -= sent
  }
  const send = Effect.fnUntraced(function* (step: Step, body: object, sent: number) {
    last = { body, sent }
    const settled = client.holder.settled()
    const answer = yield* Effect.result(client.holder.refillAt(start + step.at * 1000, body))
    if (answer._tag === "Failure") {
      const left = client.unsettled
      client = { ...open(), unsettled: left, spent: left }
      unwritten = left
      return { rejected: (answer.failure as { _tag: string })._tag.replace("RefillTranches.", "") }
    }
    if (step.response === "lost" || step.stored === false) {
      client.holder.unsettle(settled)
      return step.response === "lost" ? {} : { satisfied: answer.success.tranches[0]?.satisfied }
    }
    arrived(answer.success, sent)
    until = step.at + 3600
    return { satisfied: answer.success.tranches[0]?.satisfied }
  })

  return {
    unspent,
    unsettled: () => client.unsettled,
    source: () => client.holder.source,
    spend: (amount: number) => {
      if (amount > unspent()) return { allowed: false }
      take(amount)
      return { allowed: true }
    },
    refill: Effect.fnUntraced(function* (step: Step) {
      if (unwritten > 0) yield* client.holder.spend("exports", unwritten, start + step.at * 1000)
      unwritten = 0
      const held = reservedInAll()
      const keep = step.keep === undefined ? unspent() : Number(step.keep)
      client.given += unspent() - keep
      const amount = (more: string | undefined) => String(Number(more ?? 0) + held)
      const tranches = [
        { entitlement: "exports", keep: String(keep + held), need: amount(step.need), want: amount(step.want) },
      ]
      return yield* send(step, { tranches }, client.unsettled)
    }),
    resend: (step: Step) => {
      const { body, sent } = last as { body: object; sent: number }
      return send(step, body, sent)
    },
    crash: (loses: string | undefined) => {
      if (loses === "ledger") {
        client = open()
        unwritten = 0
      }
      reserved.clear()
      return {}
    },
    reserve: (id: string, amount: number) => {
      if (amount > unspent()) return { allowed: false }
      reserved.set(id, amount)
      return { allowed: true }
    },
    commit: (id: string, amount: number) => {
      const held = reserved.get(id)
      if (held === undefined || amount > held) return { committed: false }
      reserved.delete(id)
      take(amount)
      return { committed: true }
    },
  }
}

const play = Effect.fnUntraced(function* ({ given }: Vector) {
  const shop = yield* openTrancheShop
  const [checks, consumption] = [yield* Checks, yield* Consumption]
  yield* shop.metered("exports", Number(given.limit))
  const start = Date.now() + 3_600_000
  const client = product(shop, start)
  const copies = new Map<string, Holder>()
  const standing = (seconds: number) =>
    Effect.map(
      at(start + seconds * 1000)(
        shop.asCaller(checks.check("prod", { checks: [{ entitlement: "exports", requested: 0 }], explain: true })),
      ),
      ({ checks: [check] }) => ({
        usage: Number(check?.usage),
        held: (check as unknown as { explanation: { held: number } }).explanation.held,
        remaining: Number(check?.remaining),
      }),
    )
  const others = Effect.fnUntraced(function* (step: Step) {
    const { remaining } = yield* standing(step.at)
    const requested = Math.min(Number(step.amount), remaining)
    const request = { checks: [{ entitlement: "exports", requested }], consume: true }
    yield* at(start + step.at * 1000)(shop.asCaller(consumption.consume("prod", request)))
    return { consumed: String(requested) }
  })
  const copySettles = Effect.fnUntraced(function* (step: Step) {
    const copy = copies.get(client.source()) ?? shop.holder(client.source())
    yield* copy.spend("exports", Number(step.amount), start + step.at * 1000)
    yield* copy.refillAt(start + step.at * 1000, { tranches: [{ entitlement: "exports" }] })
    return {}
  })
  const run = (step: Step): Effect.Effect<object> => {
    const { amount = "0", id = "" } = step
    switch (step.do) {
      case "refill":
        return client.refill(step)
      case "resend":
        return client.resend(step)
      case "consume":
        return Effect.sync(() => client.spend(Number(amount)))
      case "reserve":
        return Effect.sync(() => client.reserve(id, Number(amount)))
      case "commit":
        return Effect.sync(() => client.commit(id, Number(amount)))
      case "crash":
        return Effect.sync(() => client.crash(step.loses))
      case "others":
        return others(step) as Effect.Effect<object>
      case "copy-settles":
        return copySettles(step) as Effect.Effect<object>
      default:
        return Effect.die(new Error(`the step ${step.do} is unknown`))
    }
  }
  return yield* Effect.forEach(given.steps, (step) =>
    Effect.gen(function* () {
      const result = yield* run(step)
      const { held, usage } = yield* standing(step.at)
      return {
        do: step.do,
        ...result,
        unspent: String(client.unspent(step.at)),
        unsettled: String(client.unsettled()),
        service: { usage: String(usage), held: String(held) },
      }
    }),
  )
})

layer(TestService.layer, { excludeTestServices: true })("the service beside the vectors of ledgers", (it) => {
  it.effect.each(vectors)("$id", (vector) =>
    Effect.map(play(vector), (steps) => assert.deepStrictEqual(steps, vector.expected.steps as typeof steps)),
  )
})
