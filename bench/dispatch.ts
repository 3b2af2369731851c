/** Webhook dispatch end to end: from a committed event to the receiver's 200 and the row in the history, per second. */
import { join } from "node:path"
import { eventNames } from "../src/kernel/Event.ts"
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
  readonly last: number
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

const received = async (origin: string, jobs: number): Promise<Burst> => {
  const deadline = Date.now() + 120_000
  for (;;) {
    const seen = (await (await fetch(`${origin}/stats`)).json()) as Seen
    if (seen.count >= jobs) {
      const milliseconds = seen.last - seen.first
      await fetch(`${origin}/reset`)
      return {
        perSecond: (jobs - 1) / (milliseconds / 1000),
        p50: Number.NaN,
        p99: Number.NaN,
        failures: seen.count - jobs,
      }
    }
    if (Date.now() > deadline) throw new Error(`Only ${seen.count} of ${jobs} deliveries came`)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

/** Rounds of each contender, interleaved. The service must allow plain http. */
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
  const results: Record<string, Array<Burst>> = { keyshelf: [], "pg-boss": [], "graphile-worker": [] }
  for (let round = 0; round < rounds; round++) {
    await run([join(here, "emit-events.mjs"), url, me.organizationId, String(jobs), ...names])
    results["keyshelf"]?.push(await received(receiver.origin, jobs))
    for (const queue of ["pg-boss", "graphile-worker"]) {
      const worker = await start([join(here, "comparators/queues.mjs"), queue], {
        env: {
          BENCH_DATABASE_URL: url,
          BENCH_JOBS: String(jobs),
          BENCH_ENDPOINTS: String(names.length),
          BENCH_RECEIVER: receiver.origin,
        },
        ready: /ready/,
        core: cores.server,
      })
      results[queue]?.push(await received(receiver.origin, jobs))
      await worker.stop()
    }
  }
  for (const id of made) await call("DELETE", `${api}/webhooks/${id}`, token)
  await receiver.stop()
  return results
}
