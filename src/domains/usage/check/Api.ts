/** Endpoints of the check. */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { InstanceNotFound } from "../../instances/Errors.ts"
import { Idempotency, idempotencyHeaders, RequiredScope } from "../../../kernel/contract/Endpoint.ts"
import { exampleBody } from "../../../kernel/contract/Example.ts"
import { MissingScope, ValidationFailed } from "../../../kernel/contract/Problem.ts"
import { PathName } from "../../../kernel/values/Text.ts"
import { CheckRequest, CheckResult } from "./Model.ts"

export class CheckApi extends HttpApiGroup.make("check")
  .add(
    HttpApiEndpoint.post("check", "/instances/:instanceSlug/check", {
      params: { instanceSlug: PathName },
      headers: idempotencyHeaders,
      payload: CheckRequest,
      success: CheckResult,
      error: [InstanceNotFound, MissingScope, ValidationFailed],
    })
      .middleware(Idempotency)
      .annotate(RequiredScope, "read:instances")
      .annotateMerge(exampleBody({ checks: [{ entitlement: "api-calls", requested: 25 }, { entitlement: "sso" }] }))
      .annotateMerge(
        OpenApi.annotations({
          summary: "Check what an instance may use",
          description:
            "Answers in the order asked, and changes nothing, unless `consume` is true: then all that is asked is used at once if all of it is allowed, else nothing is, and `write:instances` is needed. A refusal is an answer, not an error: `allowed` is false and `reason` says why. `GRANTED`, `UNLIMITED` and `SOFT_LIMIT` (over the limit, within the overage that the license tolerates) allow; `LIMIT_REACHED`, `NOT_GRANTED`, `ENTITLEMENT_NOT_FOUND`, `LICENSE_NOT_STARTED` and `LICENSE_EXPIRED` refuse. The figures describe the state before the request, or after it when consumed; `remaining` leaves out what reservations hold. A past `at` is answered by what was true then: the license, dates and grants of then, and the usage up to then, that instant included. `explain` adds to each answer what it rests on, for the people who are asked about it.",
        }),
      ),
  )
  .annotateMerge(
    OpenApi.annotations({ title: "Check", description: "May this instance use this entitlement, now and this much." }),
  ) {}
