/** Fault: nodes are killed with `kill -9` every few seconds under load. */
import { Deferred, Effect } from "effect"
import { until } from "../support/Installation.ts"
import { conclude, deleteEndingEndpoint, leaseOf, openFixture } from "../support/World.ts"
import type { ScenarioOptions, Verdict } from "../support/World.ts"

const MIN_KILLS = 2

/** Kills and restarts one of two nodes every one to five seconds. Stops if a node does not start. */
export const kills = Effect.fnUntraced(function* (setting: ScenarioOptions) {
  const broken = yield* Deferred.make<never>()
  return yield* Effect.raceFirst(run(setting, broken), Deferred.await(broken))
})

const run = Effect.fnUntraced(function* (setting: ScenarioOptions, broken: Deferred.Deferred<never>) {
  const { random, seconds } = setting
  const fixture = yield* openFixture(setting)
  const { installation, nodes } = fixture
  const load = yield* fixture.begin
  const began = performance.now()
  const elapsed = () => (performance.now() - began) / 1000
  let ended = false
  let leases = 0
  // On a busy machine a restart can take longer than the whole run.
  while (elapsed() < seconds || installation.crashes.length < MIN_KILLS) {
    yield* Effect.sleep(random.between(1000, 5000))
    const victim = random.pick(nodes)
    if (!victim.isReady()) continue
    leases += (yield* victim.kill).leases.size
    yield* Effect.forkScoped(Effect.tapCause(victim.start, (cause) => Deferred.failCause(broken, cause)))
    if (!ended && elapsed() > seconds / 2) {
      ended = true
      yield* deleteEndingEndpoint(fixture)
    }
  }
  if (!ended) yield* deleteEndingEndpoint(fixture)
  yield* until("the last restart is done", () => nodes.every(({ isReady }) => isReady()), 40_000)
  const { verdict } = yield* conclude(fixture, load, leaseOf(setting) + 30_000)
  const result: Verdict = {
    ...verdict,
    figures: { kills: installation.crashes.length, "leases open at kills": leases, ...verdict.figures },
  }
  return result
})
