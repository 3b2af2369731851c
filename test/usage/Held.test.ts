/**
 * What is held of a period, through every reader of it. All agree with one plain statement of the rule (`expectedHeld`), but for
 * what each of them promises otherwise:
 *
 * - A check ignores what was created after the instant `known`, a minute after it, and a check of the past what was created after it.
 *   Locks and the optimistic read take what is stored.
 * - Only locks know where the period ends. The others also hold what begins after it, which a clock that is ahead has created.
 * - Locks and the optimistic read decide at the instant of the latest decision, if their own clock is behind it.
 * - A check reads reservations that expire within 25 hours, because none lives longer than a day.
 * - A batch of events is compared with the most that is held in any period, without what ledgers have brought.
 * - The function of batched checks holds allowances of clocks that are ahead, too.
 */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { knownAt } from "../../src/domains/usage/check/Service.ts"
import { TestService } from "../support/TestService.ts"
import { expectedHeld, factsAt, histories } from "./HeldHistories.ts"
import type { Asked, HeldFacts } from "./HeldHistories.ts"
import { HeldShop, periodAfter, readersOf } from "./HeldStore.ts"
import type { Found } from "./HeldStore.ts"

const expectedOf = (facts: ReadonlyArray<HeldFacts>, askedOf: (facts: HeldFacts) => Asked): Found =>
  new Map(facts.map((own) => [own.meter.slug, expectedHeld(own, askedOf(own))]))

const later = (one: Date, other: Date): Date => (one > other ? one : other)

/** Without zeros, because batches read only what is held. */
const withoutZeros = (found: Found): Found => new Map([...found].filter(([, quantity]) => quantity !== "0"))

layer(Layer.provideMerge(HeldShop.layer, TestService.layer), { excludeTestServices: true })(
  "what is held of a period",
  (it) => {
    it.effect.prop(
      "is the same through every reader, at each bound and a millisecond before and after it",
      { history: histories },
      ({ history: { at, decidedAt, facts } }) =>
        Effect.gen(function* () {
          const shop = yield* HeldShop
          const read = yield* readersOf(shop)
          const earlier = facts.map((own) => factsAt(at, own))
          yield* shop.store("earlier", earlier, decidedAt)
          yield* shop.store("today", facts, decidedAt)

          const known = knownAt(at)
          const checked = expectedOf(earlier, ({ period }) => ({ begins: period.start, at, known }))
          assert.deepStrictEqual(yield* read.single(at, known), checked, "a single check")
          assert.deepStrictEqual(yield* read.standings(at, known), checked, "standings")
          assert.deepStrictEqual(yield* read.impact(at, known), checked, "the impact of a change")
          const batched = yield* read.batched(at, known)
          assert.deepStrictEqual(batched.withCatalog, checked, "batched checks with their catalog")
          assert.deepStrictEqual(batched.within, checked, "batched checks of one organization")
          const cached = expectedOf(earlier, ({ period }) => ({
            begins: period.start,
            at,
            known,
            unknownAllowances: true,
          }))
          assert.deepStrictEqual(batched.usageOnly, cached, "batched checks whose catalog is cached")

          const past = expectedOf(facts, ({ period }) => ({ begins: period.start, at, known: at }))
          assert.deepStrictEqual(yield* read.past(at), past, "a check of the past")
          assert.deepStrictEqual(yield* read.single(at, at), past, "a check at an instant, as of then")

          const decided = later(at, decidedAt)
          const optimistic = expectedOf(earlier, ({ period }) => ({ begins: period.start, at: decided }))
          assert.deepStrictEqual(yield* read.optimistic(at), optimistic, "the optimistic read")

          const most = expectedOf(
            earlier.map((own) => ({ ...own, brought: [] })),
            () => ({ begins: new Date(0), at }),
          )
          assert.deepStrictEqual(withoutZeros(yield* read.mostOfBatch(at)), withoutZeros(most), "a batch of events")

          const locked = expectedOf(earlier, ({ period: { end, start } }) => ({
            begins: start,
            ends: end,
            at: decided,
          }))
          const functions = yield* read.functions(at, known, decidedAt)
          assert.deepStrictEqual(functions.locked, locked, "the function usage_held")
          assert.deepStrictEqual(functions.sharded, locked, "its form for Citus")
          assert.deepStrictEqual(functions.cached, cached, "the function held_with_allowances")
          const offline = expectedOf(
            earlier.map((own) => ({ ...own, reservations: [] })),
            ({ period: { end, start } }) => ({ begins: start, ends: end, at }),
          )
          assert.deepStrictEqual(functions.offline, offline, "the function offline_held")
          assert.deepStrictEqual(yield* read.locked(at), locked, "locks")
          const next = expectedOf(earlier, ({ meter }) => {
            const { end, start } = periodAfter(meter, at)
            return { begins: start, ends: end, at: end === null ? decided : at }
          })
          assert.deepStrictEqual(yield* read.lockedNext(at), next, "locks of the next period")
        }),
      { arbitrary: { runs: 60 }, timeout: 120_000 },
    )
  },
)
