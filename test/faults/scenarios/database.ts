/** Fault: PostgreSQL crashes and restarts under load. */
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import type { Violation } from "../support/Checker.ts"
import { conclude, deleteEndingEndpoint, leaseOf, openFixture } from "../support/World.ts"
import type { ScenarioOptions, Verdict } from "../support/World.ts"

/** Maximum time from the crash until a write succeeds again. */
const MAX_RECOVERY_MILLIS = 10_000

/** Stops the server five times, like `pg_ctl stop -m immediate` or by `kill -9`. Its owner restarts it. */
export const database = Effect.fnUntraced(function* (setting: ScenarioOptions) {
  const { dataDir } = setting.server
  if (dataDir === undefined) return yield* Effect.die(new Error("This fault needs a dedicated server"))
  const fixture = yield* openFixture(setting)
  const load = yield* fixture.begin
  const pause = Math.max((setting.seconds * 1000) / 5, 4_000)
  const outages: Array<number> = []
  const violations: Array<Violation> = []
  for (let turn = 0; turn < 5; turn++) {
    yield* Effect.sleep(pause)
    const [pid = ""] = readFileSync(join(dataDir, "postmaster.pid"), "utf8").split("\n")
    const at = performance.timeOrigin + performance.now()
    process.kill(Number(pid), setting.random.next() < 0.5 ? "SIGQUIT" : "SIGKILL")
    yield* Effect.sleep(Math.min(pause, MAX_RECOVERY_MILLIS))
    const back = load.writes.find((write) => write.at > at && write.outcome === "ok")
    if (back === undefined)
      violations.push({ invariant: "I1", detail: `no write succeeded within ${MAX_RECOVERY_MILLIS} ms` })
    else outages.push(Math.round(back.at + back.millis - at))
  }
  for (const node of fixture.nodes) {
    if (node.hasEnded()) violations.push({ invariant: "I1", detail: `${node.name} exited with its database` })
  }
  yield* deleteEndingEndpoint(fixture)
  const { verdict } = yield* conclude(fixture, load, leaseOf(setting) + 15_000)
  const result: Verdict = {
    figures: { outages: outages.length, "longest outage ms": Math.max(...outages), ...verdict.figures },
    violations: [...violations, ...verdict.violations],
  }
  return result
})
