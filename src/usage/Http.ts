/** Handlers of the check, of usage and of reservations. */
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { CoreApi } from "../CoreApi.ts"
import { created } from "../kernel/Endpoint.ts"
import { CloudEvents } from "./CloudEvents.ts"
import { Consumption } from "./Consume.ts"
import { UsageReports } from "./Reports.ts"
import { Reservations } from "./Reservations.ts"
import { Usage } from "./Service.ts"

export const check = HttpApiBuilder.group(
  CoreApi,
  "check",
  Effect.fn(function* (handlers) {
    const usage = yield* Usage
    const consumption = yield* Consumption
    return handlers.handleAll({
      check: ({ params, payload }) =>
        payload.consume === true
          ? consumption.consume(params.instanceSlug, payload)
          : usage.check(params.instanceSlug, payload),
    })
  }),
)

const asBatch = (sent: unknown): ReadonlyArray<unknown> => (Array.isArray(sent) ? sent : [sent])

export const usage = HttpApiBuilder.group(
  CoreApi,
  "usage",
  Effect.fn(function* (handlers) {
    const reports = yield* UsageReports
    const cloudEvents = yield* CloudEvents
    return handlers.handleAll({
      list: ({ params, query }) => reports.list(params.instanceSlug, query),
      get: ({ params }) => reports.get(params.instanceSlug, params.entitlementSlug),
      report: ({ params, payload }) => reports.report(params.instanceSlug, params.entitlementSlug, payload),
      ofGroup: ({ params, query }) => reports.ofGroup(params.entitlementGroupSlug, query.instance),
      reportEvents: ({ payload }) => cloudEvents.report(asBatch(payload)),
    })
  }),
)

export const reservations = HttpApiBuilder.group(
  CoreApi,
  "reservations",
  Effect.fn(function* (handlers) {
    const reservations = yield* Reservations
    return handlers.handleAll({
      reserve: ({ params, payload = {} }) =>
        Effect.map(reservations.reserve(params.instanceSlug, params.entitlementSlug, payload), (reservation) =>
          created(`/api/reservations/${reservation.id}`, reservation),
        ),
      get: ({ params }) => reservations.get(params.reservationId),
      commit: ({ params, payload = {} }) => reservations.commit(params.reservationId, payload),
      release: ({ params }) => reservations.release(params.reservationId),
    })
  }),
)
