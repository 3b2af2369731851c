/** An attacker in a process of its own, which sends as much as the service takes. */
import { Effect } from "effect"
import { fork } from "node:child_process"
import { join } from "node:path"
import { until } from "./Installation.ts"

/** A request that an attacker repeats on each of its connections. */
export interface Attack {
  readonly origin: string
  readonly token: string
  readonly method: string
  readonly path: string
  readonly body?: object
  readonly connections: number
}

/** Starts an attacker and waits for its first responses. It ends with the scope. */
export const attack = Effect.fnUntraced(function* (plan: Attack) {
  const responses = new Map<number, number>()
  yield* Effect.acquireRelease(
    Effect.sync(() => {
      const child = fork(join(import.meta.dirname, "attackerProcess.ts"), { stdio: "inherit" })
      child.send(plan)
      child.on("message", (status: number) => responses.set(status, (responses.get(status) ?? 0) + 1))
      return child
    }),
    (child) =>
      Effect.promise(async () => {
        const gone = new Promise((resolve) => child.once("exit", resolve))
        child.kill("SIGKILL")
        await gone
      }),
  )
  const answered = () => [...responses.values()].reduce((sum, count) => sum + count, 0)
  yield* until("the attacker has got responses", () => answered() >= plan.connections)
  return {
    /** The responses so far, by status. */
    responses: (): ReadonlyMap<number, number> => responses,
  }
})
