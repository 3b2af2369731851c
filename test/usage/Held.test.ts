/**
 * What is used and held of a period, through every reader of it. All agree with one plain statement of the rule (`expectedHeld`), but
 * for what each of them promises otherwise:
 *
 * - A check ignores what was created after the instant `known`, a minute after it, and a check of the past what was created after it.
 *   Locks and the optimistic read take what is stored.
 * - Only locks know where the period ends. The others also hold what begins after it, which a clock that is ahead has created.
 * - Locks and the optimistic read use the time of the latest decision, if it is later than their clock.
 * - A check reads reservations that expire within 25 hours, because none lives longer than a day.
 * - A batch of events is compared with the most that is held in any period, without what ledgers have brought.
 *
 * A tranche holds units of its own period alone. Add-ons change what is granted, and nothing of this.
 */
import { assert, layer } from "@effect/vitest"
import { BigDecimal, Effect, Layer } from "effect"
import { knownAt } from "../../src/domains/usage/check/Service.ts"
import { DAY_MS } from "../../src/kernel/values/Timestamp.ts"
import { TestService } from "../support/TestService.ts"
import {
  expectedHeld,
  expectedMost,
  expectedUsed,
  factsAt,
  histories,
  meters,
  periodOf,
  periodsAround,
} from "./HeldHistories.ts"
import type { Asked, HeldFacts, HeldHistory } from "./HeldHistories.ts"
import { periodAfter, readersOf } from "./HeldReaders.ts"
import type { Found } from "./HeldReaders.ts"
import { HeldShop } from "./HeldStore.ts"

const expectedOf = (facts: ReadonlyArray<HeldFacts>, askedOf: (facts: HeldFacts) => Asked): Found =>
  new Map(
    facts.map((own) => {
      const asked = askedOf(own)
      return [own.meter.slug, { held: expectedHeld(own, asked), used: expectedUsed(own, asked) }]
    }),
  )

const later = (one: Date, other: Date): Date => (one > other ? one : other)

const agree = Effect.fnUntraced(function* ({ at, decidedAt, facts, isExtended }: HeldHistory) {
  const shop = yield* HeldShop
  yield* shop.extend(isExtended)
  const read = yield* readersOf(shop)
  const earlier = facts.map((own) => factsAt(at, own))
  yield* shop.store("earlier", earlier, decidedAt)
  yield* shop.store("today", facts, decidedAt)

  const known = knownAt(at)
  const checked = expectedOf(earlier, ({ period }) => ({ begins: period.start, at, known }))
  assert.deepStrictEqual(yield* read.single(at, known), checked, "a single check")
  assert.deepStrictEqual(yield* read.standings(at, known), checked, "standings")
  assert.deepStrictEqual(yield* read.impact(at, known), checked, "the impact of a change")
  assert.deepStrictEqual(yield* read.within(at, known), checked, "batched checks of one organization")
  for (const batched of yield* read.batched(at, known)) assert.deepStrictEqual(batched, checked, "batched checks")

  const past = expectedOf(facts, ({ period }) => ({ begins: period.start, at, known: at }))
  assert.deepStrictEqual(yield* read.past(at), past, "a check of the past")
  assert.deepStrictEqual(yield* read.single(at, at), past, "a check of the past")

  const decided = later(at, decidedAt)
  const optimistic = expectedOf(earlier, ({ period }) => ({ begins: period.start, at: decided }))
  assert.deepStrictEqual(yield* read.optimistic(at), optimistic, "the optimistic read")

  const most = new Map(
    earlier
      .map((own) => [own.meter.slug, expectedMost(own, at)] as const)
      // Batches read only what is held.
      .filter(([, quantity]) => quantity !== "0"),
  )
  assert.deepStrictEqual(yield* read.mostOfBatch(at), most, "a batch of events")

  const locked = expectedOf(earlier, ({ period: { end, start } }) => ({ begins: start, ends: end, at: decided }))
  assert.deepStrictEqual(yield* read.locked(at), locked, "locks")
  const next = expectedOf(earlier, ({ meter }) => {
    const { end, start } = periodAfter(meter, at)
    return { begins: start, ends: end, at: end === null ? decided : at }
  })
  assert.deepStrictEqual(yield* read.lockedNext(at), next, "locks of the next period")
})

const seven = BigDecimal.fromNumberUnsafe(7)
const none = { ended: null, quantity: seven }

/** The facts of every meter at an instant. */
const factsOf = (at: Date, rows: (facts: HeldFacts) => Partial<HeldFacts>): HeldHistory => ({
  at,
  decidedAt: at,
  isExtended: true,
  facts: meters.map((meter) => {
    const facts = { meter, period: periodOf(meter, at), reservations: [], allowances: [], brought: [] }
    return { ...facts, ...rows(facts) }
  }),
})

/** An instant in the longest period that each meter can have: a month of 31 days, a year of 366. */
const inLongPeriods = new Date("2028-03-15T12:00:00Z")

layer(Layer.provideMerge(HeldShop.layer, TestService.layer), { excludeTestServices: true })(
  "what is used and held of a period",
  (it) => {
    it.effect.prop(
      "is the same through every reader, at each bound and a millisecond before and after it",
      { history: histories },
      ({ history }) => agree(history),
      { arbitrary: { runs: 60 }, timeout: 120_000 },
    )

    it.effect.each(
      meters.flatMap((meter) => {
        const { end, start } = periodOf(meter, inLongPeriods)
        return end === null ? [] : [{ meter, start, last: new Date(end.getTime() - 1) }]
      }),
    )("counts what was used in the first instant of a $meter.resetPeriod until its last", ({ last, meter, start }) =>
      agree(
        factsOf(last, (facts) => ({
          brought: facts.meter === meter ? [{ timestamp: start, quantity: seven }] : [],
        })),
      ),
    )

    it.effect("holds a reservation of 24 hours from the first instant, also of a clock that is a minute ahead", () =>
      agree(
        factsOf(inLongPeriods, () => ({
          reservations: [inLongPeriods, knownAt(inLongPeriods)].map((created) => ({
            ...none,
            created,
            expires: new Date(created.getTime() + DAY_MS),
          })),
        })),
      ),
    )

    it.effect("holds an allowance until its uploads end or it is ended, and the greatest of several", () =>
      Effect.forEach([-1, 0, 1], (off) =>
        agree(
          factsOf(inLongPeriods, () => {
            const edge = new Date(inLongPeriods.getTime() + off)
            const [from, open] = [new Date(edge.getTime() - DAY_MS), new Date(edge.getTime() + DAY_MS)]
            return {
              allowances: [
                { ...none, from, until: edge, open: edge },
                { from, until: open, open, ended: edge, quantity: BigDecimal.fromNumberUnsafe(3) },
              ],
            }
          }),
        ),
      ),
    )

    it.effect("held a reservation until it was committed or released", () =>
      Effect.forEach([-1, 0, 1], (off) =>
        agree(
          factsOf(inLongPeriods, () => ({
            reservations: [
              {
                created: new Date(inLongPeriods.getTime() - 1000),
                expires: new Date(inLongPeriods.getTime() + 1000),
                ended: new Date(inLongPeriods.getTime() + off),
                quantity: seven,
              },
            ],
          })),
        ),
      ),
    )

    it.effect("holds a tranche in its own period alone, also while those of the periods around it are held", () =>
      agree(
        factsOf(inLongPeriods, ({ meter }) => {
          const { before, next, period } = periodsAround(meter, inLongPeriods)
          const created = new Date(inLongPeriods.getTime() - 1000)
          return {
            reservations: [before, period, period, next].map(({ start }, index) => ({
              created,
              expires: new Date(created.getTime() + DAY_MS),
              ended: null,
              quantity: BigDecimal.fromNumberUnsafe(10 ** index),
              of: start,
            })),
          }
        }),
      ),
    )

    it.effect("holds under locks what was created before the period ends", () => {
      const midnight = Date.UTC(2029, 0, 1)
      return Effect.forEach([-1, 0, 1], (off) =>
        agree(
          factsOf(new Date(midnight - 1000), () => {
            const created = new Date(midnight + off)
            const ends = new Date(midnight + DAY_MS)
            return {
              reservations: [{ ...none, created, expires: ends }],
              allowances: [{ ...none, from: created, until: ends, open: ends }],
            }
          }),
        ),
      )
    })

    it.effect("holds a reservation of 24 hours until its last millisecond", () =>
      agree(
        factsOf(inLongPeriods, () => ({
          reservations: [0, 1].map((left) => {
            const expires = new Date(inLongPeriods.getTime() + left)
            return { ...none, created: new Date(expires.getTime() - DAY_MS), expires }
          }),
        })),
      ),
    )

    it.effect(
      "holds an allowance of the periods that begin before its bundle expires, while usage can be uploaded",
      () =>
        Effect.forEach([-1, 0, 1], (off) =>
          agree(
            factsOf(inLongPeriods, ({ period: { start } }) => ({
              allowances: [
                {
                  ...none,
                  from: new Date(start.getTime() - DAY_MS),
                  until: new Date(start.getTime() + off),
                  open: new Date(inLongPeriods.getTime() + DAY_MS),
                },
              ],
            })),
          ),
        ),
    )
  },
)
