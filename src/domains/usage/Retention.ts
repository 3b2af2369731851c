/** How long reservations are kept that are over: a while, so that a late commit is told that it came too late. */
import { Context, Effect, Layer } from "effect"
import { ReservationsRepo } from "./reservations/Repo.ts"

const KEPT_MILLIS = 7 * 24 * 60 * 60 * 1000

/** Removes old reservations. What they counted stays counted. */
export class ReservationRetention extends Context.Service<
  ReservationRetention,
  {
    /** Removes up to so many reservations that were over for seven days at the instant; answers how many. */
    readonly removeFinished: (at: Date, count: number) => Effect.Effect<number>
  }
>()("keyshelf/usage/Retention") {
  static readonly layer = Layer.effect(
    ReservationRetention,
    Effect.map(ReservationsRepo, (repo) =>
      ReservationRetention.of({
        removeFinished: (at, count) => repo.deleteFinished(new Date(at.getTime() - KEPT_MILLIS), count),
      }),
    ),
  )
}
