/** Faults: two nodes are killed while products spend units of hard limits by themselves, and are killed too. */
import { Deferred, Effect } from "effect"
import { join } from "node:path"
import { temporaryDirectory } from "../../support/temporaryDirectory.ts"
import { createCatalog } from "../support/Catalog.ts"
import { open, tenant, until } from "../support/Installation.ts"
import type { AnyNode } from "../support/Installation.ts"
import { aboveCap, checkProducts, CAP, ENTITLEMENT, newPrinted } from "../support/Products.ts"
import { startProduct, taken } from "../support/Products.ts"
import type { Violation } from "../support/Checker.ts"
import type { ScenarioOptions, Verdict } from "../support/World.ts"

/** A short run has fewer processes, so that each gets a part of a small machine. */
const [FEW_PRODUCTS, MANY_PRODUCTS] = [6, 20]
const LONG_SECONDS = 60
const INSTANCES_PER_SECOND = 4
const SAMPLE_MILLIS = 100

interface Kills {
  readonly killsProducts: boolean
}

const run = Effect.fnUntraced(function* (
  { limits, random, seconds, server }: ScenarioOptions,
  { killsProducts }: Kills,
  broken: Deferred.Deferred<never>,
) {
  const installation = yield* open(server, limits)
  const nodes = [yield* installation.node("one"), yield* installation.node("two")] as const
  yield* Effect.all(
    nodes.map(({ start }) => start),
    { concurrency: 2 },
  )
  const acme = yield* tenant(installation, nodes[0], "Acme")
  const count = Math.ceil(seconds * INSTANCES_PER_SECOND) + 1
  const instances = Array.from({ length: count }, (_, index) => `site-${index}`)
  yield* createCatalog(nodes[0], acme, { entitlement: ENTITLEMENT, cap: CAP, instances })
  const directory = yield* temporaryDirectory
  const printed = newPrinted()
  const products = yield* Effect.forEach(
    Array.from({ length: seconds >= LONG_SECONDS ? MANY_PRODUCTS : FEW_PRODUCTS }, (_, index) => index),
    (index) =>
      startProduct(printed, {
        nodes: nodes.map(({ core }) => core),
        token: acme.token,
        directory: join(directory, `product-${index}`),
        instances,
        entitlement: ENTITLEMENT,
        seed: Math.floor(random.between(0, 2 ** 31)) + index,
      }),
  )
  const during: Array<Violation> = []
  const sample = Effect.gen(function* () {
    during.push(...aboveCap(yield* taken(installation, acme)))
    yield* Effect.sleep(SAMPLE_MILLIS)
  })
  yield* Effect.forkScoped(Effect.forever(sample))

  const began = performance.now()
  const isKilled = ({ name }: AnyNode) => installation.crashes.some(({ node }) => node === name)
  while (performance.now() - began < seconds * 1000 || !nodes.every(isKilled)) {
    yield* Effect.sleep(random.between(500, 2000))
    if (killsProducts) yield* products[Math.floor(random.between(0, products.length))]?.restart ?? Effect.void
    const victim = random.pick(nodes)
    if (!nodes.every(({ isReady }) => isReady())) continue
    yield* victim.kill
    yield* Effect.forkScoped(Effect.tapCause(victim.start, (cause) => Deferred.failCause(broken, cause)))
  }
  yield* until("the last restart is done", () => nodes.every(({ isReady }) => isReady()), 40_000)
  yield* Effect.all(
    products.map(({ end }) => end),
    { concurrency: "unbounded" },
  )
  const rows = yield* taken(installation, acme)
  const verdict: Verdict = {
    figures: {
      kills: installation.crashes.length,
      "killed products": printed.kills,
      acknowledged: printed.uses,
      refills: printed.refills,
      "full instances": rows.filter(({ used }) => used === CAP).length,
      ...Object.fromEntries(printed.denied),
    },
    violations: [...during, ...checkProducts(printed, rows)],
  }
  return verdict
})

const scenario = (kills: Kills) =>
  Effect.fnUntraced(function* (setting: ScenarioOptions) {
    const broken = yield* Deferred.make<never>()
    return yield* Effect.raceFirst(run(setting, kills, broken), Deferred.await(broken))
  })

/** Kills and restarts one of two nodes every few seconds. */
export const tranches = scenario({ killsProducts: false })

/** The same, and a product each time. */
export const products = scenario({ killsProducts: true })
