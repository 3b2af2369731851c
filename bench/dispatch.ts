/**
 * Measures webhook dispatch end to end: committed events to the receiver's 200 and the row in the history, per second. A round
 * lasts from the first request at the receiver until the last outcome is stored in the history and the queue.
 */
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { eventNames } from "../src/kernel/values/EventNames.ts"
import type { Burst } from "./report.ts"
import { cores, freePorts, run, start } from "./processes.ts"
import type { Running } from "./processes.ts"
import { call } from "./world.ts"
import type { Site } from "./world.ts"

const here = import.meta.dirname

/** One endpoint per event name, so that each event has a single receiver. */
const names = eventNames.slice(0, 40)

interface ReceiverStats {
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

/** Waits until all deliveries arrived. `stored` resolves to the time of the last stored outcome, in milliseconds since 1970. */
const received = async (origin: string, jobs: number, stored: Promise<number>): Promise<Burst> => {
  const deadline = Date.now() + 120_000
  for (;;) {
    const stats = (await (await fetch(`${origin}/stats`)).json()) as ReceiverStats
    if (stats.count >= jobs) {
      const milliseconds = (await stored) - stats.first
      await fetch(`${origin}/reset`)
      return {
        perSecond: jobs / (milliseconds / 1000),
        p50: Number.NaN,
        p99: Number.NaN,
        failures: stats.count - jobs,
      }
    }
    if (Date.now() > deadline) throw new Error(`Only ${stats.count} of ${jobs} deliveries arrived`)
    await sleep(100)
  }
}

// A new process is still compiling, so the first rounds do not count.
const WARMUP_ROUNDS = 3

/** A service to measure, which must allow plain http. Its endpoints are spread over the organizations of the tokens, round robin. */
interface Dispatcher {
  readonly url: string
  readonly site: Site
  readonly tokens: ReadonlyArray<string>
}

/** Creates the endpoints. `deliver` delivers events and resolves to the time of the last stored outcome. */
const dispatcher = async ({ site, tokens, url }: Dispatcher, receiver: string) => {
  const api = `${site.origins.core}/api`
  const organizations: Array<string> = []
  for (const token of tokens) {
    organizations.push(((await call("GET", `${api}/me`, token)) as { organizationId: string }).organizationId)
    // An interrupted run leaves endpoints and pending deliveries to a receiver that no longer exists.
    const { items } = (await call("GET", `${api}/webhooks?limit=200`, token)) as {
      items: ReadonlyArray<{ id: string }>
    }
    for (const { id } of items) await call("DELETE", `${api}/webhooks/${id}`, token)
  }
  const created: Array<readonly [token: string, id: string]> = []
  for (const [index, name] of names.entries()) {
    const token = tokens[index % tokens.length] ?? ""
    const body = { url: `${receiver}/${index}`, eventNames: [name] }
    created.push([token, ((await call("POST", `${api}/webhooks`, token, body)) as { id: string }).id])
  }
  return {
    deliver: async (jobs: number) =>
      Number(await run([join(here, "emit-events.mjs"), url, receiver, organizations.join(), String(jobs), ...names])),
    close: async () => {
      for (const [token, id] of created) await call("DELETE", `${api}/webhooks/${id}`, token)
    },
  }
}

/** Measures interleaved rounds of each service, and of the other queues on the database `queues`, if given. */
export const measure = async (options: {
  readonly services: Readonly<Record<string, Dispatcher>>
  readonly queues?: string
  readonly rounds: number
  readonly jobs: number
}): Promise<Record<string, Array<Burst>>> => {
  const { jobs, rounds } = options
  const receiver = await startReceiver()
  // Each delivers `jobs` events and resolves to the time of the last stored outcome.
  const ways: Record<string, () => Promise<number>> = {}
  const closing: Array<() => Promise<void>> = []
  for (const [name, service] of Object.entries(options.services)) {
    const { close, deliver } = await dispatcher(service, receiver.origin)
    ways[name] = () => deliver(jobs)
    closing.push(close)
  }
  for (const name of options.queues === undefined ? [] : ["pg-boss", "graphile-worker"]) {
    const queue = await start([join(here, "comparators/queues.mjs"), name], {
      env: {
        BENCH_DATABASE_URL: options.queues ?? "",
        BENCH_ENDPOINTS: String(names.length),
        BENCH_RECEIVER: receiver.origin,
      },
      ready: /ready/,
      core: cores.server,
    })
    closing.push(queue.stop)
    let lines = 0
    ways[name] = async () => {
      queue.process.stdin?.write(`${jobs}\n`)
      const done = await queue.says(new RegExp(`done ${++lines} at \\d+\n`))
      return Number(done.split(" at ")[1])
    }
  }
  const results: Record<string, Array<Burst>> = Object.fromEntries(Object.keys(ways).map((name) => [name, []]))
  for (let round = -WARMUP_ROUNDS; round < rounds; round++) {
    // Rotate the order, so that each contender is first equally often.
    const all = Object.entries(ways)
    const first = (round + WARMUP_ROUNDS) % all.length
    for (const [name, deliver] of [...all.slice(first), ...all.slice(0, first)]) {
      const burst = await received(receiver.origin, jobs, deliver())
      if (round >= 0) results[name]?.push(burst)
      await sleep(1000)
    }
  }
  for (const close of closing) await close()
  await receiver.stop()
  return results
}
