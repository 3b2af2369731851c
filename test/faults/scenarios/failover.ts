/**
 * Fault: under load, a synchronous standby becomes the primary and takes over the address of the database. The former
 * primary has crashed, or it still runs and its commits wait for the standby that it lost.
 */
import { Effect, Fiber } from "effect"
import type { Violation } from "../support/Checker.ts"
import { clock, open, OPEN_LEASES, tenant, until } from "../support/Installation.ts"
import type { AnyNode, Tenant } from "../support/Installation.ts"
import { reasonToSkip, replicas } from "../support/Replicas.ts"
import type { Replicas } from "../support/Replicas.ts"
import { beginUsage } from "../support/UsageLoad.ts"
import { conclude, deleteEndingEndpoint, fixtureOn, leaseOf } from "../support/World.ts"
import type { ScenarioOptions, Verdict } from "../support/World.ts"

/** Maximum time until every node writes and is ready again, once the address leads to the new primary. */
const MAX_RECOVERY_MILLIS = 5_000
const PROBE_MILLIS = 50
/** Maximum time from a claim to its request. Each commit is stored by two servers, on the same disk here. */
const MAX_START_MILLIS = 5_000
/** How much slower the clients write than with one server. */
const SLOWNESS = 4
const PROBE_TIMEOUT_MILLIS = 1_000

/** What happens to the former primary before the standby takes over, and once the nodes have recovered. */
const MODES = {
  "crashed primary": { before: ({ primary }: Replicas) => primary.crash, after: () => Effect.void },
  // It must end before anyone reads there what it has confirmed to nobody.
  "running primary": { before: () => Effect.void, after: ({ primary }: Replicas) => primary.crash },
}
type Mode = keyof typeof MODES

const succeeds = (url: string, init: RequestInit = {}) =>
  fetch(url, { ...init, signal: AbortSignal.timeout(PROBE_TIMEOUT_MILLIS) }).then(
    (response) => response.text().then(() => response.ok),
    () => false,
  )

/** The milliseconds until a new write succeeds through the node and it is ready. */
const recoveryOf = (node: AnyNode, { token }: Tenant) =>
  Effect.gen(function* () {
    const began = performance.now()
    let tried = 0
    yield* until(
      `${node.name} writes again`,
      async () => {
        const isWritten = succeeds(`${node.core}/api/components`, {
          method: "POST",
          headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
          body: JSON.stringify({ name: `probe ${node.name} ${tried++}`, version: "1" }),
        })
        const isBack = (await Promise.all([isWritten, succeeds(`${node.internal}/health/ready`)])).every(Boolean)
        if (!isBack) await new Promise((resolve) => setTimeout(resolve, PROBE_MILLIS))
        return isBack
      },
      60_000,
    )
    return Math.round(performance.now() - began)
  })

const failOver = Effect.fnUntraced(function* (setting: ScenarioOptions, mode: Mode) {
  const { random } = setting
  const perSecond = setting.perSecond / SLOWNESS
  const seconds = setting.seconds / 2
  const pair = yield* Effect.orDie(replicas({ synchronous: true }))
  const installation = yield* open({ url: pair.address.url }, setting.limits)
  const fixture = yield* fixtureOn(installation, { ...setting, perSecond })
  const { nodes } = fixture
  const owner = yield* tenant(installation, nodes[0], "Counter")
  const load = yield* fixture.begin
  const usage = yield* beginUsage({ installation, nodes, owner, perSecond, random, seconds })
  const millis = yield* usage.during(
    Effect.gen(function* () {
      yield* Effect.sleep((seconds * 1000) / 2)
      yield* MODES[mode].before(pair)
      yield* pair.promote
      // What is being sent may be sent again: its end may be lost, and until both nodes are connected to the new primary,
      // one may take the other for dead.
      const leases = new Set<string>()
      installation.crashes.push({ node: "primary", kind: "killed", at: clock(), leases })
      const noteLeases = Effect.gen(function* () {
        const rows = yield* pair.standby.runIn(new URL(installation.url).pathname.slice(1), OPEN_LEASES)
        for (const { name } of rows) leases.add(String(name))
      })
      yield* noteLeases
      yield* pair.moveAddress
      const noting = yield* Effect.forkScoped(Effect.forever(Effect.delay(noteLeases, PROBE_MILLIS)))
      const taken = yield* Effect.forEach(nodes, (node) => recoveryOf(node, owner), { concurrency: "unbounded" })
      yield* Fiber.interrupt(noting)
      yield* MODES[mode].after(pair)
      yield* Effect.sleep((seconds * 1000) / 2)
      yield* usage.stop
      return Math.max(...taken)
    }),
  )
  yield* deleteEndingEndpoint(fixture)
  const { verdict }: { readonly verdict: Verdict } = yield* conclude(
    fixture,
    load,
    leaseOf(setting) + 15_000,
    MAX_START_MILLIS,
  )
  const used = yield* usage.conclude
  const bounds: ReadonlyArray<Violation> =
    millis > MAX_RECOVERY_MILLIS
      ? [{ invariant: "I10", detail: `${mode}: the nodes wrote again after ${millis} ms` }]
      : []
  const { acknowledged, retried } = used.figures
  return {
    figures: {
      ms: millis,
      "writes ok": verdict.figures["writes ok"] ?? 0,
      uses: acknowledged ?? 0,
      retried: retried ?? 0,
    },
    violations: [...bounds, ...verdict.violations, ...used.violations],
  }
})

/** Promotes a synchronous standby under load, in each mode. */
export const failover = Effect.fnUntraced(function* (setting: ScenarioOptions) {
  const reason = yield* reasonToSkip
  if (reason !== undefined) return yield* Effect.die(new Error(`This fault cannot run here: ${reason}`))
  const modes = Object.keys(MODES) as ReadonlyArray<Mode>
  const results = yield* Effect.forEach(modes, (mode) => Effect.scoped(failOver(setting, mode)))
  const result: Verdict = {
    figures: Object.fromEntries(
      modes.flatMap((mode, index) =>
        Object.entries(results[index]?.figures ?? {}).map(([name, value]) => [`${mode}: ${name}`, value]),
      ),
    ),
    violations: results.flatMap(({ violations }) => violations),
  }
  return result
})
