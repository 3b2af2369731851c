/**
 * Webhook dispatch end to end: from a committed event to the receiver's 200 and the row in the history, per second. A round lasts from
 * the first request that the receiver sees until the outcome of the last is stored, in the history and in the queue.
 */
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { eventNames } from "../src/kernel/contract/Event.ts"
import type { Burst } from "./report.ts"
import { cores, freePorts, run, start } from "./processes.ts"
import type { Running } from "./processes.ts"
import { call } from "./world.ts"
import type { Site } from "./world.ts"

const here = import.meta.dirname

/** As many endpoints as there are names, so that each event has one receiver. */
const names = eventNames.slice(0, 40)

interface Seen {
  readonly count: number
  readonly first: number
}

const startReceiver = async (): Promise<Running & { readonly origin: string }> => {
  const [port] = await freePorts(1)
  const running = await start([join(here, "receiver.mjs")], {
    env: { BENCH_PORT: String(port) },
    ready: /ready/,
    core: cores.load,
  })
  return { ...running, origin: `http://127.0.0.1:${port}` }
}

/** Waits until all came. `stored` answers when their outcomes were, in milliseconds since 1970. */
const received = async (origin: string, jobs: number, stored: Promise<number>): Promise<Burst> => {
  const deadline = Date.now() + 120_000
  for (;;) {
    const seen = (await (await fetch(`${origin}/stats`)).json()) as Seen
    if (seen.count >= jobs) {
      const milliseconds = (await stored) - seen.first
      await fetch(`${origin}/reset`)
      return {
        perSecond: jobs / (milliseconds / 1000),
        p50: Number.NaN,
        p99: Number.NaN,
        failures: seen.count - jobs,
      }
    }
    if (Date.now() > deadline) throw new Error(`Only ${seen.count} of ${jobs} deliveries came`)
    await sleep(100)
  }
}

// A process compiles what it runs: the first rounds of each are not counted.
const WARMING = 3

/** Rounds of each contender, in turns. The service must allow plain http. */
export const measure = async (options: {
  readonly url: string
  readonly site: Site
  readonly token: string
  readonly rounds: number
  readonly jobs: number
}): Promise<Record<string, Array<Burst>>> => {
  const { jobs, rounds, site, token, url } = options
  const receiver = await startReceiver()
  const api = `${site.origins.core}/api`
  const me = (await call("GET", `${api}/me`, token)) as { organizationId: string }
  // A run that was broken off leaves endpoints behind, and deliveries to a receiver that is gone.
  const { items } = (await call("GET", `${api}/webhooks?limit=200`, token)) as { items: ReadonlyArray<{ id: string }> }
  for (const { id } of items) await call("DELETE", `${api}/webhooks/${id}`, token)
  const made: Array<string> = []
  for (const [index, name] of names.entries()) {
    const body = { url: `${receiver.origin}/${index}`, eventNames: [name] }
    made.push(((await call("POST", `${api}/webhooks`, token, body)) as { id: string }).id)
  }
  // Each delivers so many, and answers when the last outcome was stored.
  const ways: Record<string, () => Promise<number>> = {
    keyshelf: async () =>
      Number(
        await run([join(here, "emit-events.mjs"), url, receiver.origin, me.organizationId, String(jobs), ...names]),
      ),
  }
  const queues: Array<Running> = []
  for (const name of ["pg-boss", "graphile-worker"]) {
    const queue = await start([join(here, "comparators/queues.mjs"), name], {
      env: { BENCH_DATABASE_URL: url, BENCH_ENDPOINTS: String(names.length), BENCH_RECEIVER: receiver.origin },
      ready: /ready/,
      core: cores.server,
    })
    queues.push(queue)
    let lines = 0
    ways[name] = async () => {
      queue.process.stdin?.write(`${jobs}\n`)
      const done = await queue.says(new RegExp(`done ${++lines} at \\d+\n`))
      return Number(done.split(" at ")[1])
    }
  }
  const results: Record<string, Array<Burst>> = {}
  for (let round = -WARMING; round < rounds; round++) {
    // Each comes first, in between and last as often as the others.
    const all = Object.entries(ways)
    const first = (round + WARMING) % all.length
    for (const [name, deliver] of [...all.slice(first), ...all.slice(0, first)]) {
      const burst = await received(receiver.origin, jobs, deliver())
      if (round >= 0) (results[name] ??= []).push(burst)
      await sleep(1000)
    }
  }
  for (const queue of queues) await queue.stop()
  for (const id of made) await call("DELETE", `${api}/webhooks/${id}`, token)
  await receiver.stop()
  return results
}
