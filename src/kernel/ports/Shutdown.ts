/** The end of the process, told before it comes: what would otherwise never end, such as a live stream, ends then. */
import { Context, Effect, Latch, Layer } from "effect"

/** Says that the listeners stop. */
export class Draining extends Context.Service<
  Draining,
  {
    /** Waits until the listeners stop. */
    readonly begun: Effect.Effect<void>
    /** Called by a listener that stops, before it waits for its requests. */
    readonly begin: Effect.Effect<void>
  }
>()("keyshelf/kernel/Draining") {
  static readonly layer = Layer.effect(
    Draining,
    Effect.map(Latch.make(false), (latch) =>
      Draining.of({ begun: Effect.asVoid(latch.await), begin: Effect.asVoid(latch.open) }),
    ),
  )
}
