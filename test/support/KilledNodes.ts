/** Two nodes with an instance `prod`, and clients that go on while the nodes are killed in turns. */
import { Effect, Schedule } from "effect"
import { request } from "./http.ts"
import type { HttpResponse } from "./http.ts"
import { furnishInstance, installation } from "./Nodes.ts"
import type { ServiceProcess } from "./ServiceProcess.ts"
import { TestDatabase } from "./TestDatabase.ts"

const KILLS = 3

/**
 * Starts the nodes, with more settings if there are any. The instance has the license `pro`, which grants so much of one `NUMBER`
 * entitlement.
 */
export const openKilledNodes = Effect.fnUntraced(function* (
  slug: string,
  limit: number,
  more: object,
  env: Record<string, string> = {},
) {
  const { node, tenant } = installation((yield* TestDatabase).url)
  const nodes: Array<ServiceProcess> = [yield* node(env), yield* node({ SERVICE_ROLES: "core,internal", ...env })]
  const token = yield* tenant(nodes[0] as ServiceProcess)
  const send = (index: number, method: string, path: string, body?: object) =>
    request(method, `${nodes[index]?.core}/api${path}`, { token, ...(body === undefined ? {} : { body }) })
  const make = (path: string, body: object) =>
    Effect.promise(async () => {
      const made = await send(0, "POST", path, body)
      if (made.status >= 300) throw new Error(made.text)
    })
  yield* furnishInstance(make, slug, limit, more)

  /** How often an outcome, `<name> <status>`, was answered. */
  const outcomes = new Map<string, number>()
  const run = { stopped: false }
  let turn = 0
  /** Calls the nodes in turns, so the next call goes to another node. `undefined`: the node was killed, and whether it did what was asked is not known. */
  const call = async (name: string, method: string, path: string, body?: object): Promise<HttpResponse | undefined> => {
    try {
      const answer = await send(turn++ % nodes.length, method, path, body)
      const outcome = `${name} ${answer.status}`
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
      return answer
    } catch {
      return undefined
    }
  }
  const answered = () => [...outcomes.values()].reduce((sum, count) => sum + count, 0)

  return {
    /** Calls one node, outside the count of outcomes. */
    send,
    call,
    outcomes,
    isStopped: () => run.stopped,
    /** Kills the nodes in turns, each time after the clients got so many more answers; then ends the clients. */
    killInTurns: Effect.fnUntraced(function* (clients: ReadonlyArray<Promise<void>>, answers: number) {
      const moreAnswers = Effect.suspend(() => {
        const before = answered()
        return Effect.repeat(Effect.sync(answered), {
          until: (count) => count >= before + answers,
          schedule: Schedule.spaced("20 millis"),
        })
      })
      for (let kill = 0; kill < KILLS; kill++) {
        yield* moreAnswers
        const killed = nodes[kill % 2] as ServiceProcess
        killed.process.kill("SIGKILL")
        yield* killed.ended
        nodes[kill % 2] = yield* node({ SERVICE_ROLES: "core,internal", ...env })
      }
      yield* moreAnswers
      run.stopped = true
      yield* Effect.promise(() => Promise.all(clients))
    }),
  }
})
