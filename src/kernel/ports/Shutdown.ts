/** Signals shutdown before listeners stop, so that requests without an end, such as live streams, finish. */
import { Context, Effect, Latch, Layer } from "effect"

/** Signals that the listeners are stopping. */
export class Shutdown extends Context.Service<
  Shutdown,
  {
    /** Waits until a listener begins to stop. */
    readonly begun: Effect.Effect<void>
    /** Signals shutdown. A stopping listener calls it before it waits for its requests. */
    readonly begin: Effect.Effect<void>
  }
>()("keyshelf/kernel/Shutdown") {
  static readonly layer = Layer.effect(
    Shutdown,
    Effect.map(Latch.make(false), (latch) =>
      Shutdown.of({ begun: Effect.asVoid(latch.await), begin: Effect.asVoid(latch.open) }),
    ),
  )
}
