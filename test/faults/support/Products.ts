/** Products in processes of their own, which spend units of hard limits by themselves, and what the database says of it. */
import { Effect } from "effect"
import { spawn } from "node:child_process"
import type { ChildProcess } from "node:child_process"
import { join } from "node:path"
import { createInterface } from "node:readline"
import type { Installation, Tenant } from "./Installation.ts"
import { MAX_AMOUNT } from "./productProcess.ts"
import type { ProductLine, ProductOptions } from "./productProcess.ts"
import type { Violation } from "./Checker.ts"

export const CAP = 200
export const ENTITLEMENT = "calls"

/** What products printed. */
interface Printed {
  readonly acknowledged: Map<string, number>
  readonly denied: Map<string, number>
  readonly faults: Array<string>
  uses: number
  refills: number
  kills: number
}

export const newPrinted = (): Printed => ({
  acknowledged: new Map(),
  denied: new Map(),
  faults: [],
  uses: 0,
  refills: 0,
  kills: 0,
})

const add = (counts: Map<string, number>, name: string, amount: number) =>
  counts.set(name, (counts.get(name) ?? 0) + amount)

const note = (printed: Printed, line: ProductLine): void => {
  if ("fault" in line) printed.faults.push(line.fault)
  else if ("denied" in line) add(printed.denied, line.denied, 1)
  else if ("refilled" in line) printed.refills++
  else {
    printed.uses++
    add(printed.acknowledged, line.instance, line.amount)
  }
}

/** Starts a product, which ends with the scope. */
export const startProduct = (printed: Printed, options: ProductOptions) => {
  const program = join(import.meta.dirname, "productProcess.ts")
  let child: ChildProcess | undefined
  let closed: Promise<number | null> = Promise.resolve(null)
  const start = (): void => {
    const started = spawn(process.execPath, [program, JSON.stringify(options)], { stdio: ["pipe", "pipe", "inherit"] })
    child = started
    createInterface({ input: started.stdout }).on("line", (text) => note(printed, JSON.parse(text) as ProductLine))
    closed = new Promise((done) => started.on("close", done))
  }
  /** Kills it with `kill -9`, and starts it in the same directory. */
  const restart = Effect.promise(async () => {
    if (child?.exitCode !== null) return
    child.kill("SIGKILL")
    await closed
    printed.kills++
    start()
  })
  /** Ends its input, and waits until it has settled what it spent. */
  const end = Effect.promise(async () => {
    child?.stdin?.end()
    const code = await closed
    if (code !== 0) printed.faults.push(`a product ended with ${code}`)
  })
  return Effect.acquireRelease(
    Effect.sync(() => {
      start()
      return { restart, end }
    }),
    () => Effect.promise(() => (child?.kill("SIGKILL"), closed)),
  )
}

/** Usage and holds of each instance that has any, in one statement. */
export const taken = ({ sql }: Installation, { organizationId }: Tenant) =>
  Effect.orDie(sql<{ slug: string; used: number; held: number }>`
    SELECT instances.slug, coalesce(total.value, 0)::float8 AS used, coalesce(held.quantity, 0)::float8 AS held
    FROM instances
    LEFT JOIN (SELECT instance_id, sum(value) AS value FROM usage_totals
      WHERE organization_id = ${organizationId} GROUP BY 1) total ON total.instance_id = instances.id
    LEFT JOIN (SELECT instance_id, sum(quantity) AS quantity FROM usage_reservations
      WHERE organization_id = ${organizationId} AND state = 'HELD' AND expires_at > now() GROUP BY 1
    ) held ON held.instance_id = instances.id
    WHERE instances.organization_id = ${organizationId}
      AND (total.instance_id IS NOT NULL OR held.instance_id IS NOT NULL)`)

type Taken = Effect.Success<ReturnType<typeof taken>>

/** What is above the cap. */
export const aboveCap = (rows: Taken): ReadonlyArray<Violation> =>
  rows.flatMap(({ held, slug, used }): ReadonlyArray<Violation> =>
    used + held > CAP ? [{ invariant: "U1", detail: `${slug} used ${used} and holds ${held} of ${CAP}` }] : [],
  )

/**
 * Compares what was acknowledged with what is stored, after all products have ended. A product that was killed may have written one use
 * down that it could not acknowledge.
 */
export const checkProducts = ({ acknowledged, faults, kills }: Printed, rows: Taken): ReadonlyArray<Violation> => {
  const stored = new Map(rows.map((row) => [row.slug, row]))
  const violations: Array<Violation> = [...aboveCap(rows)]
  let extra = 0
  for (const slug of new Set([...acknowledged.keys(), ...stored.keys()])) {
    const [spent, { held = 0, used = 0 } = {}] = [acknowledged.get(slug) ?? 0, stored.get(slug)]
    if (used < spent)
      violations.push({ invariant: "U2", detail: `${spent} of ${slug} are acknowledged, ${used} stored` })
    if (held > 0)
      violations.push({ invariant: "U4", detail: `${held} of ${slug} are held by products that have ended` })
    extra += Math.max(0, used - spent)
  }
  if (extra > kills * MAX_AMOUNT)
    violations.push({ invariant: "U3", detail: `${extra} more are stored than acknowledged, after ${kills} kills` })
  return [...violations, ...faults.map((detail) => ({ invariant: "U4", detail }) as const)]
}
