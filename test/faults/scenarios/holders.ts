/** Fault: old snapshots. An idle transaction and long reports prevent the cleanup of dead tuples in the queue. */
import { Effect } from "effect"
import { notifyNodes, writeEvents } from "../support/bulk.ts"
import type { Violation } from "../support/Checker.ts"
import { clock, endpoint, open, tenant, until } from "../support/Installation.ts"
import * as Receivers from "../support/Receiver.ts"
import { waitUntilDrained, checkEvidence } from "../support/World.ts"
import type { ScenarioOptions, Verdict } from "../support/World.ts"

const EVENTS = 600
const BURSTS_BEFORE = 4
const MIN_RATE_SHARE = 0.6
const SCANNERS = 4
const MAX_RECOVERY_MILLIS = 30_000

// Computes the combined rate of several bursts of equal size.
const combinedRate = (rates: ReadonlyArray<number>): number =>
  Math.round(rates.length / rates.reduce((sum, rate) => sum + 1 / rate, 0))

/** Measures deliveries per second before, during and after one idle transaction and four repeatable-read readers. */
export const holders = Effect.fnUntraced(function* (setting: ScenarioOptions) {
  const installation = yield* open(setting.server, setting.limits)
  const { sql } = installation
  const receiver = yield* Receivers.start
  const one = yield* installation.node("one")
  const two = yield* installation.node("two")
  yield* Effect.all([one.start, two.start], { concurrency: 2 })
  const tenants = [yield* tenant(installation, one, "Acme"), yield* tenant(installation, two, "Bolt")]
  const endpoints = yield* Effect.forEach([0, 1, 2, 3], (number) => {
    const owner = tenants[number % 2]
    return owner === undefined
      ? Effect.die(new Error("The organization does not exist"))
      : endpoint(one, owner, receiver, { key: `all-${number}` })
  })
  let turn = 0
  // Measures the deliveries per second of one burst, from its first event to its last request.
  const burst = Effect.gen(function* () {
    turn++
    const before = receiver.arrivals.length
    const began = clock()
    for (const each of tenants) {
      // Dates the events so that all of them are in the past when the first is delivered.
      const from = new Date(Date.now() - EVENTS)
      yield* writeEvents(installation, each, { count: EVENTS, marker: `burst-${turn}`, from, isPending: true })
    }
    yield* notifyNodes(installation)
    // Waits for the arrivals first, because counting the queue becomes slow with many dead tuples.
    const due = EVENTS * endpoints.length
    yield* until("all were sent", () => receiver.arrivals.length >= before + due, 60_000)
    const isDrained = yield* waitUntilDrained(installation, endpoints, 60_000)
    const last = receiver.arrivals.at(-1)
    if (!isDrained || last === undefined) return 0
    return Math.round((receiver.arrivals.length - before) / ((last.at - began) / 1000))
  })
  // Endpoints receive only events that occurred after their creation.
  yield* Effect.sleep(EVENTS + 200)
  yield* burst
  const baseline = combinedRate(yield* Effect.replicateEffect(burst, BURSTS_BEFORE))

  const held: Array<number> = []
  let dead = 0
  let scans = 0
  yield* Effect.scoped(
    Effect.gen(function* () {
      const holding = Effect.orDie(sql.withTransaction(Effect.andThen(sql`SELECT pg_current_xact_id()`, Effect.never)))
      const scanning = Effect.orDie(
        sql.withTransaction(
          Effect.gen(function* () {
            yield* sql`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ`
            for (;;) {
              yield* sql`SELECT (SELECT count(*) FROM webhook_queue), (SELECT count(*) FROM webhook_attempts)`
              scans++
              yield* Effect.sleep(200)
            }
          }),
        ),
      )
      yield* Effect.forkScoped(holding)
      for (let scanner = 0; scanner < SCANNERS; scanner++) yield* Effect.forkScoped(scanning)
      const heldUntil = clock() + setting.seconds * 1000
      do held.push(yield* burst)
      while (clock() < heldUntil)
      yield* Effect.sleep(1_000)
      const rows = yield* Effect.orDie(sql<{ dead: number }>`
        SELECT n_dead_tup::int AS dead FROM pg_stat_user_tables WHERE relname = 'webhook_queue'`)
      dead = rows[0]?.dead ?? 0
    }),
  )
  const released = clock()
  let after = yield* burst
  while (after < baseline * MIN_RATE_SHARE && clock() < released + MAX_RECOVERY_MILLIS) after = yield* burst
  yield* Effect.sleep(200)
  const { verdict } = yield* checkEvidence({ endpoints, installation, nodes: [one, two], receiver, tenants }, [])
  // Dead tuples accumulate until the last burst.
  const mean = combinedRate(held)
  const bounds: Array<Violation> = []
  if (mean < baseline * MIN_RATE_SHARE) {
    bounds.push({ invariant: "I10", detail: `the rate fell from ${baseline} to ${mean} deliveries per second` })
  }
  if (after < baseline * MIN_RATE_SHARE) {
    bounds.push({
      invariant: "I10",
      detail: `the rate recovered only to ${after} of ${baseline} deliveries per second`,
    })
  }
  const result: Verdict = {
    figures: {
      "deliveries/s before": baseline,
      "during snapshots": `${held.join(" ")} (combined ${mean}, ${Math.round((mean / baseline) * 100)} %)`,
      after,
      "dead tuples": dead,
      scans,
      ...verdict.figures,
    },
    violations: [...bounds, ...verdict.violations],
  }
  return result
})
