/** Measures one burst of load on one contender, and the rounds of an operation. */
import { join } from "node:path"
import type { Operation, Way } from "./plan.ts"
import { busyness, cores, processorTime, run } from "./processes.ts"
import type { Burst } from "./report.ts"
import type { Scale, Site } from "./world.ts"

const here = import.meta.dirname

/** What a burst is sent to: the servers of a contender, their database, and the callers. */
export interface Aim {
  readonly servers: ReadonlyArray<Site>
  readonly url: string
  readonly tokens: ReadonlyArray<string>
  readonly world: Scale
}

/** Sends one burst. `undefined` if the contender does not run here. */
export const burstAt = async (
  { servers, tokens, url, world }: Aim,
  way: Way,
  connections: number,
  seconds: number,
  rate?: number,
): Promise<Burst | undefined> => {
  if (way.by !== "sql" && servers.length === 0) return undefined
  const input = {
    connections,
    kind: way.load,
    origins: servers.map(({ origins }) => origins[way.listener ?? "core"]),
    prefix: way.prefix,
    rate,
    seconds,
    tokens: tokens.slice(0, way.organizations),
    world,
  }
  const script = way.by === "sql" ? "comparators/insert.mjs" : "load.mjs"
  const before = processorTime(servers)
  const output = await run([join(here, script)], {
    input: JSON.stringify(input),
    core: cores.load,
    env: { BENCH_DATABASE_URL: url },
  })
  const after = processorTime(servers)
  const { responses, ...burst } = JSON.parse(output) as Burst & { readonly responses?: number }
  if (before === undefined || after === undefined || responses === undefined) return burst
  return {
    ...burst,
    cost: {
      service: (after.service - before.service) / responses,
      database: (after.database - before.database) / responses,
    },
  }
}

/** Sends one burst to the contender of a way. */
export type Load = (
  way: Way,
  connections: number,
  forSeconds: number,
  rate?: number,
) => Promise<Burst | undefined> | Burst | undefined

/** Measures all ways of an operation, interleaved. */
export const inRounds = async (
  operation: Operation,
  { load, rounds, seconds }: { readonly load: Load; readonly rounds: number; readonly seconds: number },
): Promise<Record<string, Array<Burst>>> => {
  const results: Record<string, Array<Burst>> = {}
  for (const way of Object.values(operation.ways)) await load(way, operation.connections, 2)
  for (let round = 0; round < rounds; round++) {
    console.error(`${operation.name}: round ${round + 1} of ${rounds}, load average ${busyness()}`)
    // Alternate the order: the first server of a round was idle for longer than the others.
    const ways = Object.entries(operation.ways)
    for (const [name, way] of round % 2 === 0 ? ways : ways.toReversed()) {
      const full = way.rate === undefined ? undefined : results[way.rate.of]?.at(-1)?.perSecond
      const rate = full === undefined ? undefined : Math.round(full * (way.rate?.share ?? 1))
      const burst = await load(way, operation.connections, seconds, rate)
      if (burst === undefined) continue
      // Without this, the ratios would show a broken server as a slow one.
      if (burst.perSecond === 0) throw new Error(`${operation.name}: "${name}" got no successful response`)
      const bursts = (results[name] ??= [])
      bursts.push(burst)
    }
  }
  return results
}
