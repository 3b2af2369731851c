/**
 * A product that spends from tranches of instances, one after the other, until its input ends. It prints a line for each use that was
 * acknowledged, and for what must not happen. Its requests go to the nodes in turns, and to the other one if a node is down.
 */
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { createProductClient } from "../../../clients/typescript/src/product/node.ts"
import { random as randomOf } from "./Random.ts"

/** What a product is started with. */
export interface ProductOptions {
  readonly nodes: ReadonlyArray<string>
  readonly token: string
  readonly directory: string
  readonly instances: ReadonlyArray<string>
  readonly entitlement: string
  readonly seed: number
}

/** A line of its output. */
export type ProductLine =
  | { readonly instance: string; readonly amount: number }
  | { readonly denied: string }
  | { readonly refilled: boolean }
  | { readonly fault: string }

const PAUSE_MILLIS = 15
/** The largest amount of a use. */
export const MAX_AMOUNT = 3

const fileOf = (directory: string): string => `${directory}.reached`

/** How many instances the lives of this product have used. */
const reachedBy = (directory: string): number =>
  existsSync(fileOf(directory)) ? Number(readFileSync(fileOf(directory), "utf8")) : 0

const noteReached = (directory: string, count: number): void => {
  const next = `${fileOf(directory)}.next`
  writeFileSync(next, String(count))
  renameSync(next, fileOf(directory))
}

const run = async ({ directory, entitlement, instances, nodes, seed, token }: ProductOptions): Promise<void> => {
  const random = randomOf(seed)
  const write = (line: ProductLine) => process.stdout.write(`${JSON.stringify(line)}\n`)
  let turn = seed
  const input = { hasEnded: false }
  process.stdin.on("end", () => (input.hasEnded = true)).resume()

  const inTurns: typeof fetch = async (target, init) => {
    const { pathname, search } = new URL(target instanceof Request ? target.url : target)
    const [first = "", second = ""] = turn++ % 2 === 0 ? nodes : nodes.toReversed()
    return fetch(first + pathname + search, init).catch((error: unknown) => {
      const cause = error instanceof Error ? error.cause : undefined
      const isRefused = cause instanceof Error && "code" in cause && cause.code === "ECONNREFUSED"
      if (!isRefused) throw error
      return fetch(second + pathname + search, init)
    })
  }
  const client = createProductClient({
    baseUrl: nodes[0] ?? "",
    token,
    directory,
    fetch: inTurns,
    onEvent: (event) => {
      if (event.type === "rejected") write({ fault: `rejected: ${event.code}` })
      if (event.type === "refill") write({ refilled: event.satisfied })
    },
  })

  /** Uses an amount. Returns why it was denied. */
  const use = async (instance: string, amount: number): Promise<string | undefined> => {
    if (random.next() < 0.1) {
      const { answer, commit } = await client.reserve(instance, entitlement, amount)
      if (!answer.allowed) return answer.reason
      await new Promise((done) => setTimeout(done, random.between(0, PAUSE_MILLIS)))
      const used = Math.floor(random.between(0, amount + 1))
      await commit(used)
      if (used > 0) write({ instance, amount: used })
      return undefined
    }
    const { allowed, reason } = await client.consume(instance, entitlement, { requested: amount })
    if (!allowed) return reason
    write({ instance, amount })
    return undefined
  }

  const useUp = async (instance: string): Promise<void> => {
    while (!input.hasEnded) {
      const amount = Math.floor(random.between(1, MAX_AMOUNT + 1))
      const denied = await use(instance, amount)
      if (denied !== undefined) write({ denied })
      if (denied === "LIMIT_REACHED" && amount === 1) return
      await new Promise((done) => setTimeout(done, random.between(0, PAUSE_MILLIS)))
    }
  }

  // What an earlier life of this product left unsettled comes back when its instance is used again.
  const reached = reachedBy(directory)
  for (const instance of instances.slice(0, reached)) await client.check(instance, entitlement)
  // The last of them may not be used up yet.
  for (let index = Math.max(0, reached - 1); index < instances.length && !input.hasEnded; index++) {
    noteReached(directory, index + 1)
    await useUp(instances[index] ?? "")
  }
  await client.close()
}

if (import.meta.main) {
  run(JSON.parse(process.argv[2] ?? "{}")).catch((error: unknown) => {
    process.stdout.write(`${JSON.stringify({ fault: String(error) } satisfies ProductLine)}\n`)
    process.exitCode = 1
  })
}
