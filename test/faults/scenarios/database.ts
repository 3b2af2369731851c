/** A PostgreSQL that dies and comes back, under load. */
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import type { Violation } from "../support/Checker.ts"
import { conclude, endOne, leaseOf, world } from "../support/World.ts"
import type { Setting, Verdict } from "../support/World.ts"

/** A write succeeds again so long after the server is gone at most. */
const BACK_WITHIN_MILLIS = 10_000

/** Ends the server as `pg_ctl stop -m immediate` does, or by `kill -9`, five times; its owner starts it again. */
export const database = Effect.fnUntraced(function* (setting: Setting) {
  const { dataDir } = setting.server
  if (dataDir === undefined) return yield* Effect.die(new Error("This fault needs a server of its own"))
  const stage = yield* world(setting)
  const load = yield* stage.begin
  const pause = Math.max((setting.seconds * 1000) / 5, 4_000)
  const outages: Array<number> = []
  const violations: Array<Violation> = []
  for (let turn = 0; turn < 5; turn++) {
    yield* Effect.sleep(pause)
    const [pid = ""] = readFileSync(join(dataDir, "postmaster.pid"), "utf8").split("\n")
    const at = performance.timeOrigin + performance.now()
    process.kill(Number(pid), setting.random.next() < 0.5 ? "SIGQUIT" : "SIGKILL")
    yield* Effect.sleep(Math.min(pause, BACK_WITHIN_MILLIS))
    const back = load.writes.find((write) => write.at > at && write.outcome === "ok")
    if (back === undefined)
      violations.push({ invariant: "I1", detail: `no write succeeded within ${BACK_WITHIN_MILLIS} ms` })
    else outages.push(Math.round(back.at + back.millis - at))
  }
  for (const node of stage.nodes) {
    if (node.hasEnded()) violations.push({ invariant: "I1", detail: `${node.name} ended with its database` })
  }
  yield* endOne(stage)
  const { verdict } = yield* conclude(stage, load, leaseOf(setting) + 15_000)
  const result: Verdict = {
    figures: { outages: outages.length, "longest outage ms": Math.max(...outages), ...verdict.figures },
    violations: [...violations, ...verdict.violations],
  }
  return result
})
