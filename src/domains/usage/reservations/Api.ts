/** Endpoints of reservations. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { EntitlementNotFound } from "../../entitlements/Errors.ts"
import { InstanceNotFound } from "../../instances/Errors.ts"
import {
  Created,
  Idempotency,
  idempotencyHeaders,
  OpenToLicenseKeys,
  RequiredScope,
} from "../../../kernel/contract/Endpoint.ts"
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
      .annotate(OpenToLicenseKeys, "by-path")
      .annotateMerge(exampleBody({ quantity: 500, expiresInSeconds: 600, metadata: { job: "export-0007" } }))
      .annotateMerge(
        OpenApi.annotations({
          identifier: "createReservation",
          summary: "Reserve a quantity",
          description:
            "Reserves a quantity of an entitlement until it is committed, released or expired: checks, consumed checks and other reports leave room for it. Use it for work whose cost is known only afterwards: reserve the maximum, do the work, commit what it used. Only a `SUM` or a `COUNT` can be reserved. A quantity that the license does not allow, on top of what is used and reserved, is rejected. The body is optional.",
        }),
      ),
    HttpApiEndpoint.get("get", "/reservations/:reservationId", {
      params: reservation,
      success: Reservation,
      error: ReservationNotFound,
    })
      .annotate(RequiredScope, "read:instances")
      .annotate(OpenToLicenseKeys, "by-service")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Read a reservation",
          description: "Returns the current state: `EXPIRED` from `expiresAt` on.",
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
      .annotate(OpenToLicenseKeys, "by-service")
      .annotateMerge(exampleBody({ quantity: 430 }))
      .annotateMerge(
        OpenApi.annotations({
          summary: "Commit a reservation",
          description:
            "Counts the quantity as usage in the current period, and releases the rest. It can be committed even if the license was changed or ended in the meantime, but not from `expiresAt` on. The body is optional.",
        }),
      ),
    HttpApiEndpoint.delete("release", "/reservations/:reservationId", {
      params: reservation,
      success: HttpApiSchema.NoContent,
      error: [ReservationNotFound, ReservationNotHeld],
    })
      .annotate(RequiredScope, "write:instances")
      .annotate(OpenToLicenseKeys, "by-service")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Release a reservation",
          description:
            "Releases the whole quantity without using any. The reservation can still be read, as `RELEASED`.",
        }),
      ),
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Reservations",
      description: "Quantities that are reserved for a limited time before they are used.",
    }),
  ) {}
