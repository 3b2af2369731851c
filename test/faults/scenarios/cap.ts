/** Fault: two nodes are killed while clients use up hard limits, and retry on the other node. */
import { Deferred, Effect } from "effect"
import { open, tenant, until } from "../support/Installation.ts"
import type { AnyNode } from "../support/Installation.ts"
import { beginUsage } from "../support/UsageLoad.ts"
import type { ScenarioOptions, Verdict } from "../support/World.ts"

/** Kills and restarts one of two nodes every one to three seconds while clients use up the caps of many instances. */
export const cap = Effect.fnUntraced(function* (setting: ScenarioOptions) {
  const broken = yield* Deferred.make<never>()
  return yield* Effect.raceFirst(run(setting, broken), Deferred.await(broken))
})

const run = Effect.fnUntraced(function* (setting: ScenarioOptions, broken: Deferred.Deferred<never>) {
  const { perSecond, random, seconds } = setting
  const installation = yield* open(setting.server, setting.limits)
  const one = yield* installation.node("one")
  const two = yield* installation.node("two")
  const nodes = [one, two] as const
  yield* Effect.all([one.start, two.start], { concurrency: 2 })
  const acme = yield* tenant(installation, one, "Acme")
  const load = yield* beginUsage({ installation, nodes, owner: acme, perSecond, random, seconds })

  const kill = Effect.gen(function* () {
    const began = performance.now()
    const isKilled = ({ name }: AnyNode) => installation.crashes.some(({ node }) => node === name)
    while (performance.now() - began < seconds * 1000 || !nodes.every(isKilled)) {
      yield* Effect.sleep(random.between(1000, 3000))
      const victim = random.pick(nodes)
      if (!victim.isReady()) continue
      yield* victim.kill
      yield* Effect.forkScoped(Effect.tapCause(victim.start, (cause) => Deferred.failCause(broken, cause)))
    }
    yield* until("the last restart is done", () => nodes.every(({ isReady }) => isReady()), 40_000)
    yield* load.stop
  })
  yield* load.during(kill)
  const { figures, violations } = yield* load.conclude
  const result: Verdict = { figures: { kills: installation.crashes.length, ...figures }, violations }
  return result
})
