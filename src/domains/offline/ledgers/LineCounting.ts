/** Counts the new lines of a ledger, each by the bundle that it names. */
import { Effect } from "effect"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import type { Outcome } from "../../usage/cloudevents/Model.ts"
import type { MeteredInstance } from "../../usage/siteusage/Model.ts"
import { OfflineUsage } from "../../usage/siteusage/Service.ts"
import { LedgersRepo } from "./Repo.ts"
import { bundleIdOf, newestOf, windowOf } from "./Rules.ts"
import type { LedgerLine } from "./Rules.ts"

const isOutcome = (verdict: object): verdict is Outcome => "status" in verdict

/** Counts lines. Returns the outcome of each, and the sequence of the newest bundle that they name. */
export const makeLineCounting = Effect.gen(function* () {
  const repo = yield* LedgersRepo
  const usage = yield* OfflineUsage

  const bundlesOf = Effect.fnUntraced(function* (instanceId: string, lines: ReadonlyArray<LedgerLine>) {
    const { organizationId } = yield* Caller
    const ids = [...new Set(lines.flatMap((line) => bundleIdOf(line) ?? []))]
    const found = ids.length === 0 ? [] : yield* repo.findBundles(organizationId, instanceId, ids)
    return new Map(found.map((bundle) => [bundle.id, bundle] as const))
  })

  return Effect.fnUntraced(function* (instance: MeteredInstance, lines: ReadonlyArray<LedgerLine>) {
    const at = yield* now
    const bundles = yield* bundlesOf(instance.id, lines)
    const outcomes = new Map<LedgerLine, Outcome>()
    const uses = lines.flatMap((line) => {
      const verdict = windowOf(line, bundles.get(bundleIdOf(line) ?? ""), at)
      if (!isOutcome(verdict)) return [{ line, event: line.event, window: verdict }]
      outcomes.set(line, verdict)
      return []
    })
    for (const [{ line }, outcome] of yield* usage.count(instance, uses)) outcomes.set(line, outcome)
    return { outcomes, named: newestOf(Array.from(bundles.values(), ({ sequence }) => sequence)) }
  })
})
