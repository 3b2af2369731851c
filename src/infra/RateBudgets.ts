/** The request budgets of the settings. */
import { Effect, Layer, Option } from "effect"
import { CurrentBudgets } from "../kernel/ports/RateBudgets.ts"
import { Settings } from "./Settings.ts"

/** {@link CurrentBudgets} from the settings. Loads the stores only if limits are enabled. */
export const fromSettings = Layer.effect(
  CurrentBudgets,
  Effect.gen(function* () {
    const { rateLimit, redisUrl } = yield* Settings
    if (Option.isNone(rateLimit)) return undefined
    const stores = yield* Effect.promise(() => import("./RateLimitStores.ts"))
    return Option.isNone(redisUrl)
      ? yield* stores.inMemoryBudgets(rateLimit.value)
      : yield* stores.redisBudgets(rateLimit.value, redisUrl.value)
  }),
)
