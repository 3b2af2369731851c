/**
 * Consumption at an edge: from the tranches of the instance, and by a refill where they do not pay. What the origin must answer itself is
 * forwarded.
 */
import type { LocalAnswers } from "../../local/index.ts"
import { NotConsumable } from "../../local/ledger/Spender.ts"
import { LedgerEnded } from "../../local/ledger/Stored.ts"
import type { Claims } from "../../offline/Model.ts"
import type { Check } from "../../offline/Terms.ts"
import type { EdgeInstance } from "../instances/EdgeInstance.ts"
import type { Instances } from "../instances/Instances.ts"
import { OriginProblem } from "../origin/Replies.ts"

const COUNTED: ReadonlyArray<string> = ["SUM", "COUNT"]

/** Whether the service rejects to consume one of the entitlements, whatever its state: only it says how. */
export const hasOtherNumbers = ({ entitlements }: Claims, checks: ReadonlyArray<Check>): boolean =>
  checks.some(({ entitlement }) => {
    const entry = entitlements.find(({ slug }) => slug === entitlement)
    return entry?.type === "NUMBER" && !COUNTED.includes(entry.aggregation)
  })

/** What was consumed, or why nothing was. */
interface Consumed {
  readonly spender: EdgeInstance
  readonly answers: LocalAnswers
}

/** An error of the disk: nothing was written down, so nothing was spent. */
const isOfDisk = (error: unknown): boolean => error instanceof Error && "syscall" in error

/** Errors after which the origin can answer: it knows why, or it can count what the edge cannot write down. */
const isForOrigin = (error: unknown): boolean =>
  [OriginProblem, NotConsumable, LedgerEnded].some((kind) => error instanceof kind) || isOfDisk(error)

/** Consumes for an instance. `undefined`: the origin must answer. Nothing is spent then. */
export const consume = async (
  { spender }: Pick<Instances, "spender">,
  instance: EdgeInstance,
  checks: ReadonlyArray<Check>,
  signal: AbortSignal,
): Promise<Consumed | undefined> => {
  const chosen = await spender(instance)
  try {
    const answers = await chosen.local.ledger.consume({ checks, policy: "closed" }, signal)
    return { spender: chosen, answers }
  } catch (error) {
    if (isForOrigin(error)) return undefined
    throw error
  }
}

const sum = (amounts: ReadonlyArray<string>): number => amounts.reduce((total, amount) => total + Number(amount), 0)

/** Units that can be spent without the origin, and those that are spent and not counted by it. */
export const ledgerTotals = ({ spenders }: Pick<Instances, "spenders">) => {
  const all = Array.from(spenders(), ({ local }) => local.ledger.status())
  return {
    unspent: sum(all.flatMap(({ tranches }) => tranches.map(({ unspent }) => unspent))),
    unsettled: sum(all.flatMap(({ unsettled }) => unsettled.map(({ amount }) => amount))),
  }
}
