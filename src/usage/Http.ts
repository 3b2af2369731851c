/** Handlers of the check, of usage and of reservations. */
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { CoreApi } from "../CoreApi.ts"
import { created } from "../kernel/Endpoint.ts"
import { handlersOf } from "../kernel/Handlers.ts"
import { withSentDigits } from "../kernel/ExactNumber.ts"
import { checkAsText } from "./Answers.ts"
import type { Answer } from "./Answers.ts"
import { CloudEvents } from "./CloudEvents.ts"
import { Consumption } from "./Consume.ts"
import { UsageReports } from "./Reports.ts"
import { Reservations } from "./Reservations.ts"
import { Usage } from "./Service.ts"

const writtenCheck = (answer: Answer) =>
  HttpServerResponse.text(checkAsText(answer), { contentType: "application/json" })

export const check = handlersOf(
  CoreApi,
  "check",
  Effect.fn(function* (handlers) {
    const usage = yield* Usage
    const consumption = yield* Consumption
    return handlers.handleAll({
      check: ({ params, payload }) =>
        Effect.flatMap(withSentDigits(payload, ["checks", "requested"]), (asked) =>
          Effect.map(
            asked.consume === true
              ? consumption.consume(params.instanceSlug, asked)
              : usage.check(params.instanceSlug, asked),
            writtenCheck,
          ),
        ),
    })
  }),
)

const asBatch = (sent: unknown): ReadonlyArray<unknown> => (Array.isArray(sent) ? sent : [sent])

export const usage = handlersOf(
  CoreApi,
  "usage",
  Effect.fn(function* (handlers) {
    const reports = yield* UsageReports
    const cloudEvents = yield* CloudEvents
    return handlers.handleAll({
      list: ({ params, query }) => reports.list(params.instanceSlug, query),
      get: ({ params }) => reports.get(params.instanceSlug, params.entitlementSlug),
      report: ({ params, payload }) =>
        Effect.flatMap(withSentDigits(payload, ["value"], ["value", "value"]), (report) =>
          reports.report(params.instanceSlug, params.entitlementSlug, report),
        ),
      ofGroup: ({ params, query }) => reports.ofGroup(params.entitlementGroupSlug, query.instance),
      reportEvents: ({ payload }) =>
        Effect.flatMap(withSentDigits(payload, ["data", "value"]), (sent) => cloudEvents.report(asBatch(sent))),
    })
  }),
)

export const reservations = handlersOf(
  CoreApi,
  "reservations",
  Effect.fn(function* (handlers) {
    const reservations = yield* Reservations
    return handlers.handleAll({
      reserve: ({ params, payload = {} }) =>
        withSentDigits(payload, ["quantity"]).pipe(
          Effect.flatMap((asked) => reservations.reserve(params.instanceSlug, params.entitlementSlug, asked)),
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
