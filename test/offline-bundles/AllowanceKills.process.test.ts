import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import type { HttpResponse } from "../support/http.ts"
import { openKilledNodes } from "../support/KilledNodes.ts"
import { testSql } from "../support/TestDatabase.ts"
import { randomIntegers } from "../usage/RandomGenerator.ts"

const LIMIT = 300
const CONSUMERS = 6
const ISSUERS = 2
const CHECK = "/instances/prod/check"
const BUNDLES = "/instances/prod/offline-bundles"

interface Allowed {
  readonly id: string
  readonly allowances: ReadonlyArray<{ readonly quantity: number; readonly endedAt: string | null }>
}

/** The greatest open allowance of bundles. */
const heldBy = (bundles: ReadonlyArray<Allowed>): number =>
  Math.max(
    0,
    ...bundles.flatMap(({ allowances }) =>
      allowances.flatMap(({ endedAt, quantity }) => (endedAt === null ? [quantity] : [])),
    ),
  )

describe("allowances beside consumes, through two nodes that are killed in turns", { timeout: 180_000 }, () => {
  it.live("never promise a unit that was or could still be consumed", () =>
    Effect.gen(function* () {
      const { call, isStopped, killInTurns, outcomes, send } = yield* openKilledNodes("calls", LIMIT, {
        resetPeriod: "YEAR",
      })
      const over: Array<string> = []
      const consumer = async (number: number) => {
        const random = randomIntegers(number + 1)
        while (!isStopped()) {
          const requested = 1 + random(9)
          if (random(3) === 0) {
            await call("correct", "POST", "/instances/prod/entitlements/calls/usage", { value: -requested })
            continue
          }
          const checks = [{ entitlement: "calls", requested }]
          const answer = await call("consume", "POST", CHECK, { checks, consume: true, explain: random(4) === 0 })
          const [check] = answer?.status === 200 ? answer.body.checks : []
          const held = check?.explanation?.held
          // What is used and held never exceeds the limit, at any instant that a request sees.
          if (check?.usage > LIMIT || (held !== undefined && check.usage + held > LIMIT)) over.push(answer?.text ?? "")
        }
      }
      const issuer = async (number: number) => {
        const random = randomIntegers(100 + number)
        const mine: Array<string> = []
        while (!isStopped()) {
          const last = mine.length > 2 ? mine.shift() : undefined
          if (last !== undefined) {
            // Until it is known to be released: otherwise allowances would pile up.
            let released: HttpResponse | undefined
            while (released?.status !== 204) {
              released = await call("release", "DELETE", `${BUNDLES}/${last}?release=true`)
            }
            continue
          }
          const allowances = [{ entitlement: "calls", quantity: 1 + random(LIMIT) }]
          const issued = await call("issue", "POST", BUNDLES, { allowances })
          if (issued?.status === 201) mine.push(issued.body.id)
        }
      }
      const clients = [
        ...Array.from({ length: CONSUMERS }, (_, number) => consumer(number)),
        ...Array.from({ length: ISSUERS }, (_, number) => issuer(number)),
      ]
      yield* killInTurns(clients, 400)

      for (const outcome of ["consume 200", "correct 200", "issue 201", "issue 409", "release 204"]) {
        assert.isAbove(outcomes.get(outcome) ?? 0, 5, outcome)
      }
      // A correction below zero is 422. Anything else would be a failure.
      const expected = /^(?:consume (?:200|503)|correct (?:200|422|503)|issue (?:201|409|503)|release (?:204|503))$/
      assert.deepStrictEqual(
        [...outcomes.keys()].filter((outcome) => !expected.test(outcome)),
        [],
      )
      assert.deepStrictEqual(over, [])
      const all = yield* Effect.promise(async () => {
        const bundles: Array<Allowed> = []
        for (let query = "?limit=200"; query !== "";) {
          const { body } = await send(0, "GET", `${BUNDLES}${query}`)
          bundles.push(...body.items)
          query = body.hasMore === true ? `?limit=200&cursor=${body.nextCursor}` : ""
        }
        return bundles
      })
      const { body } = yield* Effect.promise(() =>
        send(1, "POST", CHECK, { checks: [{ entitlement: "calls", requested: 0 }], explain: true }),
      )
      const [check] = body.checks
      assert.strictEqual(check.explanation.held, heldBy(all))
      assert.isAtMost(check.usage + heldBy(all), LIMIT)
    }).pipe(Effect.scoped, Effect.provide(Layer.fresh(testSql))),
  )
})
