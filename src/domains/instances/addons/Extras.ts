/** What an instance has agreed beside its license that later domains store: its row says what a check must read. */
import { Context, Effect, Layer, Option } from "effect"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { Transaction } from "../../../kernel/database/Transactions.ts"
import { instanceNotFound } from "../Errors.ts"
import type { InstanceNotFound } from "../Errors.ts"
import { OverridesRepo } from "../overrides/Repo.ts"
import { AddOnsRepo } from "./Repo.ts"

/** Changes what is agreed beside the license of an instance. */
export class InstanceExtras extends Context.Service<
  InstanceExtras,
  {
    /** Locks what an instance has agreed beside its license until the transaction ends. Usage is counted meanwhile. */
    readonly lock: (
      slug: string,
    ) => Effect.Effect<{ readonly id: string; readonly slug: string }, InstanceNotFound, Transaction | Caller>
    /** From now on, checks of a locked instance read its credits of an entitlement. */
    readonly readCreditsOf: (
      instanceId: string,
      entitlementId: string,
    ) => Effect.Effect<void, never, Transaction | Caller>
  }
>()("keyshelf/instances/addons/InstanceExtras") {
  static readonly layer = Layer.effect(
    InstanceExtras,
    Effect.gen(function* () {
      const { lockInstance } = yield* OverridesRepo
      const repo = yield* AddOnsRepo

      return InstanceExtras.of({
        lock: Effect.fnUntraced(function* (slug) {
          yield* Transaction
          const { organizationId } = yield* Caller
          const instance = yield* lockInstance(organizationId, slug)
          return Option.isSome(instance) ? instance.value : yield* instanceNotFound(slug)
        }),
        readCreditsOf: Effect.fnUntraced(function* (instanceId, entitlementId) {
          yield* Transaction
          yield* repo.addCredits((yield* Caller).organizationId, instanceId, entitlementId)
        }),
      })
    }),
  )
}
