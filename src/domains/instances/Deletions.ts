/**
 * What domains after this one do when an instance is deleted, in the same transaction. They register it, because an instance
 * does not know them.
 */
import { Context, Effect, Layer } from "effect"
import type { Caller } from "../../kernel/contract/Caller.ts"
import type { Transaction } from "../../kernel/database/Transactions.ts"
import type { Instance } from "./Model.ts"

/** Work before the deletion of a locked instance. */
type BeforeDeletion = (instance: Instance) => Effect.Effect<void, never, Caller | Transaction>

/** Runs what belongs to the deletion of an instance. */
export class InstanceDeletions extends Context.Service<
  InstanceDeletions,
  {
    /** Adds work to all deletions from now on. A layer calls it when it is built. */
    readonly register: (work: BeforeDeletion) => Effect.Effect<void>
    /** Runs the registered work: that of the last domain first, because its rows may refer to those of domains before it. */
    readonly run: BeforeDeletion
  }
>()("keyshelf/instances/InstanceDeletions") {
  static readonly layer = Layer.sync(InstanceDeletions, () => {
    const registered: Array<BeforeDeletion> = []
    return InstanceDeletions.of({
      register: (work) => Effect.sync(() => void registered.push(work)),
      run: (instance) => Effect.forEach(registered.toReversed(), (work) => work(instance), { discard: true }),
    })
  })
}
