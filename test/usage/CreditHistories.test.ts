import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { makeRandom } from "../offline/random.ts"
import type { Random } from "../offline/random.ts"
import { MovableClock } from "../support/MovableClock.ts"
import { TestService } from "../support/TestService.ts"
import { CreditBooks } from "./CreditBooks.ts"
import { openCreditedShop } from "./CreditedShop.ts"

const HISTORIES = Number(process.env["CREDIT_HISTORIES"] ?? 150)
const STEPS = 14
const HOUR = 3_600_000

// Amounts are halves in the books.
const shown = (halves: number | null | undefined) =>
  halves === -1 ? -1 : typeof halves === "number" ? halves / 2 : null

const iso = (at: number) => new Date(at).toISOString()

/** Plays a history through the service and in the books. Each answer and each figure is compared. */
const play = Effect.fnUntraced(function* (random: Random, label: string) {
  const clock = yield* MovableClock
  const shop = yield* openCreditedShop
  const { ask, call, report } = shop
  const books = new CreditBooks()
  const ids: Array<string> = []
  const events: Array<string | null> = []
  const reservations: Array<string> = []
  const told: Array<string> = []
  /** Events of batches: which of them is which is not known, so that none of them is voided. */
  const unnamed = new Set<string>()
  yield* shop.entitlement("calls", { resetPeriod: "DAY" })
  const at = () => clock.now()
  const amount = () => random.oneOf([1, 1, 2, 3, 5, 8, 20])
  let sent = 0

  const setGrant = Effect.fnUntraced(function* () {
    const grant = random.oneOf([
      null,
      { limit: 0 },
      { limit: 4 },
      { limit: 10 },
      { limit: 10, overagePercent: 50 },
      { limit: -1 },
    ])
    const [before, after] = [books.grant, grant && { overagePercent: 0, ...grant }]
    if (before !== null) yield* call("DELETE", "/licenses/pro/entitlements/calls")
    if (after !== null) yield* shop.grant("pro", "calls", shown(after.limit) ?? 0, after.overagePercent)
    books.grant = after
  })

  /** The newest event of the entitlement, which was counted just now. */
  const remember = Effect.fnUntraced(function* (count: number) {
    const listed = yield* call("GET", "/instances/prod/entitlements/calls/usage/events?limit=50")
    const known = new Set([...events, ...unnamed])
    const fresh = listed.body.items.map(({ id }: { id: string }) => id).filter((id: string) => !known.has(id))
    assert.strictEqual(fresh.length, count, `${label}: ${told.join("; ")}`)
    events.push(...fresh)
  })

  const expect = (actual: unknown, expected: unknown) =>
    assert.deepStrictEqual(actual, expected, `${label}: ${told.join("; ")}`)

  /** Uses an amount now, in a way that must answer as the check did. */
  const use = Effect.fnUntraced(function* () {
    const quantity = amount()
    const { allowed } = books.split(quantity, at(), at())
    const checked = yield* ask("calls", quantity / 2)
    expect(checked.allowed, allowed)
    const way = random.oneOf(["consume", "report", "batch", "once"] as const)
    told.push(`${way} ${quantity}`)
    const now = at()
    if (way === "consume") {
      const { body } = yield* call("POST", "/instances/prod/check", {
        consume: true,
        checks: [{ entitlement: "calls", requested: quantity / 2 }],
      })
      expect(body.checks[0].allowed, allowed)
      expect(body.checks[0].reason, checked.reason)
    } else if (way === "batch") {
      const { body } = yield* call("POST", "/usage-events", [
        {
          specversion: "1.0",
          id: `${sent++}`,
          source: "/test",
          subject: "prod",
          type: "calls",
          data: { value: quantity / 2 },
        },
      ])
      expect(body.results[0].status, allowed ? "accepted" : "rejected")
    } else {
      const body = { value: quantity / 2, ...(way === "once" ? { transactionId: `${sent++}` } : {}) }
      expect((yield* report("calls", body)).status, allowed ? 200 : 409)
      if (way === "once") expect((yield* report("calls", body)).status, allowed ? 200 : 409)
    }
    if (allowed) {
      expect(books.count(quantity, now, now), 200)
      yield* remember(1)
    }
  })

  /** Reports an amount, a correction or a `set` for a time of now or before. */
  const reportFor = Effect.fnUntraced(function* (value: number, behavior: "append" | "set") {
    const now = at()
    const timestamp = now - random.oneOf([0, 0, HOUR, 7 * HOUR, 26 * HOUR])
    told.push(`${behavior} ${value} ${(now - timestamp) / HOUR} h ago`)
    const { status, text } = yield* report("calls", { value: value / 2, behavior, timestamp: iso(timestamp) })
    const expected = books.count(value, timestamp, now, behavior === "set")
    assert.strictEqual(status, expected, `${label}: ${told.join("; ")}: ${text}`)
    if (status === 200) yield* remember(1)
  })

  /** Sends several events of different times at once. Each is decided on what those before it leave. */
  const batch = Effect.fnUntraced(function* () {
    const now = at()
    const all = Array.from({ length: 2 + random.below(4) }, () => ({
      value: random.isOnceIn(4) ? -amount() : amount(),
      timestamp: now - random.oneOf([0, HOUR, 7 * HOUR, 26 * HOUR]),
    }))
    told.push(`batch ${all.map(({ timestamp, value }) => `${value} ${(now - timestamp) / HOUR} h ago`).join(", ")}`)
    const { body } = yield* call(
      "POST",
      "/usage-events",
      all.map(({ timestamp, value }) => ({
        specversion: "1.0",
        id: `${sent++}`,
        source: "/test",
        subject: "prod",
        type: "calls",
        time: iso(timestamp),
        data: { value: value / 2 },
      })),
    )
    const counted = all.map(({ timestamp, value }) => books.count(value, timestamp, now) === 200)
    expect(
      body.results.map(({ status }: { status: string }) => status === "accepted"),
      counted,
    )
    const accepted = counted.filter((is) => is).length
    const listed = yield* call("GET", "/instances/prod/entitlements/calls/usage/events?limit=50")
    const known = new Set([...events, ...unnamed])
    const fresh = listed.body.items.map(({ id }: { id: string }) => id).filter((id: string) => !known.has(id))
    expect(fresh.length, accepted)
    for (const id of fresh) unnamed.add(id)
    events.push(...fresh.map(() => null))
  })

  const sell = Effect.fnUntraced(function* () {
    const now = at()
    const bought = {
      amount: amount() + amount(),
      priority: random.below(2),
      startsAt: now - random.oneOf([0, 0, HOUR, 30 * HOUR, -2 * HOUR]),
      expiresAt: random.oneOf([Infinity, now + 3 * HOUR, now + 9 * HOUR, now + 40 * HOUR]),
    }
    told.push(`credit ${JSON.stringify(bought)}`)
    ids.push(
      yield* shop.credit("calls", {
        amount: bought.amount / 2,
        priority: bought.priority,
        startsAt: iso(bought.startsAt),
        expiresAt: bought.expiresAt === Infinity ? null : iso(bought.expiresAt),
      }),
    )
    books.credits.push({ ...bought, voided: false })
  })

  const reserve = Effect.fnUntraced(function* () {
    const quantity = amount()
    const seconds = random.oneOf([60, 3_600, 20_000])
    told.push(`reserve ${quantity} for ${seconds} s`)
    const now = at()
    const made = yield* call("POST", "/instances/prod/entitlements/calls/reservations", {
      quantity: quantity / 2,
      expiresInSeconds: seconds,
    })
    expect(made.status, books.reserve(quantity, now, seconds))
    if (made.status === 201) reservations.push(String(made.body.id))
  })

  const end = Effect.fnUntraced(function* () {
    if (reservations.length === 0) return
    const number = random.below(reservations.length)
    const path = `/reservations/${reservations[number]}`
    if (random.isOnceIn(3)) {
      told.push(`release ${number}`)
      const { status } = yield* call("DELETE", path)
      expect(status, books.end(number, at(), 0) ? 204 : 409)
      return
    }
    const quantity = 1 + random.below(books.holds[number]?.quantity ?? 0)
    told.push(`commit ${number} ${quantity}`)
    const now = at()
    const { status } = yield* call("POST", `${path}/commit`, { quantity: quantity / 2 })
    const isCommitted = books.end(number, now, quantity)
    expect(status, isCommitted ? 200 : 409)
    if (isCommitted) yield* remember(1)
  })

  const voidOne = Effect.fnUntraced(function* () {
    const named = events.flatMap((id, number) => (id === null ? [] : [{ id, number }]))
    if (named.length === 0) return
    const { id, number } = random.oneOf(named)
    told.push(`void ${number}`)
    const { status } = yield* call("DELETE", `/instances/prod/entitlements/calls/usage/events/${id}`)
    expect(status, books.happenings[number]?.isVoided === true ? 404 : 204)
    if (status === 204) books.void(number)
  })

  const voidCredit = Effect.fnUntraced(function* () {
    const number = random.below(Math.max(1, ids.length))
    const credit = books.credits[number]
    if (credit === undefined || credit.voided) return
    told.push(`void credit ${number}`)
    expect((yield* call("DELETE", `/credits/${ids[number]}`)).status, 204)
    credit.voided = true
  })

  const compare = Effect.fnUntraced(function* () {
    const figures = books.figures(at())
    const answer = yield* ask("calls", 0)
    expect(
      [answer.limit, answer.usage, answer.remaining, answer.overage, answer.credits ?? null],
      [
        shown(figures.limit),
        // A void can leave a usage below zero, which is no mark of an unlimited one.
        figures.usage / 2,
        ...[figures.remaining, figures.overage, figures.credits].map(shown),
      ],
    )
    const used = yield* shop.usedOf
    expect(
      ids.map((id) => used.get(id)),
      ids.map((_, number) => books.used(number) / 2),
    )
  })

  const steps = {
    use,
    use2: use,
    use3: use,
    late: () => reportFor(amount(), "append"),
    correct: () => reportFor(-amount(), "append"),
    set: () => reportFor(amount() + amount(), "set"),
    batch,
    sell,
    sell2: sell,
    reserve,
    reserve2: reserve,
    end,
    end2: end,
    voidOne,
    voidCredit: () => (random.isOnceIn(3) ? voidCredit() : Effect.void),
    setGrant,
  }
  const names = Object.keys(steps) as Array<keyof typeof steps>
  yield* setGrant()
  for (let step = 0; step < STEPS; step++) {
    yield* clock.pass(random.oneOf([1, 60_000, HOUR, 5 * HOUR]) + random.below(1_000))
    yield* steps[random.oneOf(names)]()
    yield* compare()
  }
  yield* shop.assertUsesAddUp
})

const service = TestService.separate.pipe(Layer.provideMerge(MovableClock.layer))

layer(service, { excludeTestServices: true })("random histories of credits", (it) => {
  it.effect(
    "answer a check, a consume, a report, a batch and a reservation alike, as the reference does",
    () =>
      Effect.gen(function* () {
        const seed = Number(process.env["CREDIT_SEED"] ?? 20_261_128)
        for (let run = 0; run < HISTORIES; run++) {
          yield* play(makeRandom(seed + run), `history ${seed + run}`)
        }
      }),
    { timeout: 1_800_000 },
  )
})
