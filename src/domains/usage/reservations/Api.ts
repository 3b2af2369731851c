/** Endpoints of reservations. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { EntitlementNotFound } from "../../entitlements/Errors.ts"
import { InstanceNotFound } from "../../instances/Errors.ts"
import { Created, Idempotency, idempotencyHeaders, RequiredScope } from "../../../kernel/contract/Endpoint.ts"
import { exampleBody } from "../../../kernel/contract/Example.ts"
import { Uuid } from "../../../kernel/values/Identifiers.ts"
import { ValidationFailed } from "../../../kernel/contract/Problem.ts"
import { PathName } from "../../../kernel/values/Text.ts"
import { ReservationNotFound, ReservationNotHeld, ReserveLimitReached } from "../Errors.ts"
import { Commit, Reservation, Reserve } from "./Model.ts"

const reservation = { reservationId: Uuid }

export class ReservationsApi extends HttpApiGroup.make("reservations")
  .add(
    HttpApiEndpoint.post("reserve", "/instances/:instanceSlug/entitlements/:entitlementSlug/reservations", {
      params: { instanceSlug: PathName, entitlementSlug: PathName },
      headers: idempotencyHeaders,
      payload: [Reserve, Schema.Undefined],
      success: Created(Reservation),
      error: [InstanceNotFound, EntitlementNotFound, ReserveLimitReached, ValidationFailed],
    })
      .middleware(Idempotency)
      .annotate(RequiredScope, "write:instances")
      .annotateMerge(exampleBody({ quantity: 500, expiresInSeconds: 600, metadata: { job: "export-0007" } }))
      .annotateMerge(
        OpenApi.annotations({
          summary: "Reserve a quantity",
          description:
            "Keeps a quantity of an entitlement until it is committed, released or expired: checks, consumed checks and reports by others leave room for it. For work whose cost is known only behind it: reserve the most, do it, commit what it took. Only a `SUM` or a `COUNT` can be reserved. What the license does not allow now, beside what is used and held, is refused. A body may be missing.",
        }),
      ),
    HttpApiEndpoint.get("get", "/reservations/:reservationId", {
      params: reservation,
      success: Reservation,
      error: ReservationNotFound,
    })
      .annotate(RequiredScope, "read:instances")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Read a reservation",
          description: "In the state of this moment: `EXPIRED` from the instant `expiresAt` on.",
        }),
      ),
    HttpApiEndpoint.post("commit", "/reservations/:reservationId/commit", {
      params: reservation,
      headers: idempotencyHeaders,
      payload: [Commit, Schema.Undefined],
      success: Reservation,
      error: [ReservationNotFound, ReservationNotHeld, ValidationFailed],
    })
      .middleware(Idempotency)
      .annotate(RequiredScope, "write:instances")
      .annotateMerge(exampleBody({ quantity: 430 }))
      .annotateMerge(
        OpenApi.annotations({
          summary: "Commit a reservation",
          description:
            "Counts the quantity as usage, in the period of this moment, and frees the rest. What is held is promised: it can be committed although the license was changed or ended meanwhile, but not after `expiresAt`. A body may be missing.",
        }),
      ),
    HttpApiEndpoint.delete("release", "/reservations/:reservationId", {
      params: reservation,
      success: HttpApiSchema.NoContent,
      error: [ReservationNotFound, ReservationNotHeld],
    })
      .annotate(RequiredScope, "write:instances")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Release a reservation",
          description: "Frees all that is held; nothing is used. The reservation can still be read, as `RELEASED`.",
        }),
      ),
  )
  .annotateMerge(
    OpenApi.annotations({ title: "Reservations", description: "Quantities kept for a while, before they are used." }),
  ) {}
