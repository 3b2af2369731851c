/** Metrics of tranches. */
import { Effect, Metric } from "effect"

const counterOf = (outcome: "satisfied" | "denied") =>
  Metric.counter("keyshelf_tranche_refills_total", {
    description: "Tranches that were refilled, by whether their need was met",
    incremental: true,
    attributes: { outcome },
  })

const satisfied = counterOf("satisfied")
const denied = counterOf("denied")

/** Counts the tranches of a refill. Without any, the series begin at 0. */
export const countRefilled = (tranches: ReadonlyArray<{ readonly satisfied: boolean }>): Effect.Effect<void> => {
  const met = tranches.filter((tranche) => tranche.satisfied).length
  return Effect.andThen(Metric.update(satisfied, met), Metric.update(denied, tranches.length - met))
}
