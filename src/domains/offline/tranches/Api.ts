/** Endpoints of tranches. */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Idempotency, idempotencyHeaders, OpenToLicenseKeys, RequiredScope } from "../../../kernel/contract/Endpoint.ts"
import { exampleBody } from "../../../kernel/contract/Example.ts"
import { Page, pageQuery } from "../../../kernel/contract/Page.ts"
import { InvalidCursor, ValidationFailed } from "../../../kernel/contract/Problem.ts"
import { PathName } from "../../../kernel/values/Text.ts"
import { InstanceNotFound } from "../../instances/Errors.ts"
import { Tranche } from "../../usage/tranches/Model.ts"
import {
  RefillTranchesLedgerClosed,
  RefillTranchesLedgerForked,
  RefillTranchesLedgerGap,
  TrancheNotFound,
} from "../Errors.ts"
import { exampleRefill, RefilledTranches, RefillTranches } from "./Model.ts"

const instance = { instanceSlug: PathName }

export class TranchesApi extends HttpApiGroup.make("tranches")
  .add(
    HttpApiEndpoint.post("refill", "/instances/:instanceSlug/tranches", {
      params: instance,
      headers: idempotencyHeaders,
      payload: RefillTranches,
      success: RefilledTranches,
      error: [
        InstanceNotFound,
        RefillTranchesLedgerForked,
        RefillTranchesLedgerGap,
        RefillTranchesLedgerClosed,
        ValidationFailed,
      ],
    })
      .middleware(Idempotency)
      .annotate(RequiredScope, "write:instances")
      .annotate(OpenToLicenseKeys, "by-path")
      .annotateMerge(exampleBody(exampleRefill))
      .annotateMerge(
        OpenApi.annotations({
          identifier: "refillTranches",
          summary: "Refill what a product may spend by itself",
          description:
            "Counts new lines of a ledger, and refills the tranches of its holder. A tranche is what the holder may spend of a limit without a request. The holder can spend it for an hour after the last refill, and it is held for a day. What the request does not `keep` is freed. A `need` is granted as a whole if it fits. A `want` gets a part of what is free. Only a `SUM` or a `COUNT` has tranches. Repeated lines count once. The response has a new snapshot. 409 `LedgerForked`: a line does not follow from the stored ones. 409 `LedgerGap`: a line is missing. 409 `LedgerClosed`: the ledger takes no lines. 422: a text is not a line of the ledger, the entitlement cannot be reserved, or the period is another one than the present, the next, or one that ended within 10 seconds. 403: a license key sends a line with a negative value.",
        }),
      ),
    HttpApiEndpoint.get("list", "/instances/:instanceSlug/tranches", {
      params: instance,
      query: pageQuery,
      success: Page(Tranche),
      error: [InstanceNotFound, InvalidCursor],
    })
      .annotate(RequiredScope, "read:instances")
      .annotate(OpenToLicenseKeys, "by-path")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "listTranches",
          summary: "List the tranches of an instance",
          description:
            "What each holder may still spend or holds, by `holder`. A tranche whose hold has ended is not listed.",
        }),
      ),
    HttpApiEndpoint.delete("end", "/instances/:instanceSlug/tranches/:holder", {
      params: { ...instance, holder: PathName.annotate({ description: "The source of the ledger" }) },
      success: HttpApiSchema.NoContent,
      error: [InstanceNotFound, TrancheNotFound],
    })
      .annotate(RequiredScope, "write:licenses")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "endTranches",
          summary: "End what a holder holds",
          description:
            "Frees all units that a holder holds, at once. Do it only if the machine of the holder is lost: one that still runs goes on spending until `spendUntil`, and its lines count above the limit.",
        }),
      ),
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Tranches",
      description: "Units of hard limits that products spend without a request.",
    }),
  ) {}
