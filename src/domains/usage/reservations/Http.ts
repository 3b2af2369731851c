/** Handlers of reservations. */
import { Effect } from "effect"
import * as Apis from "../../../kernel/contract/Apis.ts"
import { created } from "../../../kernel/contract/Endpoint.ts"
import { handlersOf } from "../../../kernel/contract/Handlers.ts"
import { withSentDigits } from "../../../kernel/values/Decimal.ts"
import { ReservationsApi } from "./Api.ts"
import { Reservations } from "./Service.ts"

export const reservations = handlersOf(
  Apis.core(ReservationsApi),
  "reservations",
  Effect.fn(function* (handlers) {
    const reservations = yield* Reservations
    return handlers.handleAll({
      reserve: ({ params, payload = {} }) =>
        withSentDigits(payload, ["quantity"]).pipe(
          Effect.flatMap((request) => reservations.reserve(params.instanceSlug, params.entitlementSlug, request)),
          Effect.map((reservation) => created(`/api/reservations/${reservation.id}`, reservation)),
        ),
      get: ({ params }) => reservations.get(params.reservationId),
      commit: ({ params, payload = {} }) =>
        Effect.flatMap(withSentDigits(payload, ["quantity"]), (used) =>
          reservations.commit(params.reservationId, used),
        ),
      release: ({ params }) => reservations.release(params.reservationId),
    })
  }),
)
