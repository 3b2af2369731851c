/** Endpoints of the check. */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { InstanceNotFound } from "../../instances/Errors.ts"
import { Idempotency, idempotencyHeaders, OpenToLicenseKeys, RequiredScope } from "../../../kernel/contract/Endpoint.ts"
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
      .annotate(OpenToLicenseKeys, "by-path")
      .annotateMerge(exampleBody({ checks: [{ entitlement: "api-calls", requested: 25 }, { entitlement: "sso" }] }))
      .annotateMerge(
        OpenApi.annotations({
          identifier: "checkInstance",
          summary: "Check what an instance may use",
          description:
            "Answers each check, in the order of the request. It changes nothing, unless `consume` is true: then the requested amounts are used if all are allowed, otherwise none, and `write:instances` is required. A denied check is not an error: `allowed` is false and `reason` says why. `GRANTED`, `UNLIMITED`, `SOFT_LIMIT` (above the limit, within its overage) and `IN_GRACE` (after the end of the license, until `graceEndsAt`) allow. `LIMIT_REACHED`, `NOT_GRANTED`, `ENTITLEMENT_NOT_FOUND`, `LICENSE_NOT_STARTED` and `LICENSE_EXPIRED` deny. The figures describe the state before the request, or after it if consumed; `remaining` excludes reserved quantities. A past `at` uses the license, dates and grants at that instant, and the usage up to and including it. On a day whose events are no longer stored, an `at` between two of them is 422 at `body.at`; the start and the last millisecond of a day in UTC are always answered. `explain` adds to each answer everything that it was decided on.",
        }),
      ),
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Check",
      description: "Whether an instance may use an amount of an entitlement now.",
    }),
  ) {}
