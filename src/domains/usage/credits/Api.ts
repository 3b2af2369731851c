/** Endpoints of credits. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Created, Idempotency, idempotencyHeaders, RequiredScope } from "../../../kernel/contract/Endpoint.ts"
import { DryRunImpact, DryRunOf, DryRuns, dryRunQuery } from "../../../kernel/contract/dryruns/DryRun.ts"
import { ChangingImpact } from "../../../kernel/contract/dryruns/ImpactModels.ts"
import { exampleBody } from "../../../kernel/contract/Example.ts"
import { Page, pageQuery } from "../../../kernel/contract/Page.ts"
import { InvalidCursor, ValidationFailed } from "../../../kernel/contract/Problem.ts"
import { Uuid } from "../../../kernel/values/Identifiers.ts"
import { PathName } from "../../../kernel/values/Text.ts"
import { EntitlementNotFound } from "../../entitlements/Errors.ts"
import { InstanceNotFound } from "../../instances/Errors.ts"
import { CreateCreditExternalIdTaken, CreateCreditLimitReached, CreditNotFound } from "../Errors.ts"
import { CreateCredit, Credit, CreditUse } from "./Model.ts"

const meter = { instanceSlug: PathName, entitlementSlug: PathName }
const credit = { creditId: Uuid }
const PATH = "/instances/:instanceSlug/entitlements/:entitlementSlug/credits"

const CreateCreditDryRun = DryRunOf("CreateCredit", { status: 201, body: Credit, impact: ChangingImpact })
const VoidCreditDryRun = DryRunOf("VoidCredit", { status: 204, body: Schema.Null, impact: ChangingImpact })

export class CreditsApi extends HttpApiGroup.make("credits")
  .add(
    HttpApiEndpoint.get("list", PATH, {
      params: meter,
      query: {
        ...pageQuery,
        history: Schema.optionalKey(
          Schema.Literals(["true", "false"]).annotate({
            description: "Whether to include those that are used up, voided or expired. All are then newest first",
          }),
        ),
      },
      success: Page(Credit),
      error: [InstanceNotFound, EntitlementNotFound, InvalidCursor],
    })
      .annotate(RequiredScope, "read:licenses")
      .annotateMerge(
        OpenApi.annotations({
          summary: "List the credits of an instance",
          description: "Those that are neither used up, voided nor expired, in the order in which they are used.",
        }),
      ),
    HttpApiEndpoint.post("create", PATH, {
      params: meter,
      query: dryRunQuery,
      headers: idempotencyHeaders,
      payload: CreateCredit,
      success: [Created(Credit), Credit, CreateCreditDryRun],
      error: [
        InstanceNotFound,
        EntitlementNotFound,
        CreateCreditLimitReached,
        CreateCreditExternalIdTaken,
        ValidationFailed,
      ],
    })
      .middleware(Idempotency)
      .middleware(DryRuns)
      .annotate(RequiredScope, "write:licenses")
      .annotate(DryRunImpact, "credit")
      .annotateMerge(
        exampleBody({ amount: 5000, expiresAt: "2099-06-30T00:00:00Z", reason: "Top-up", externalId: "in_1Q2" }),
      )
      .annotateMerge(
        OpenApi.annotations({
          summary: "Add a credit",
          description:
            "An amount that the instance can use once, after its limit and before its overage. It pays usage whose timestamp is from `startsAt` on and before `expiresAt`. The entitlement must be a `SUM` or a `COUNT`. Send an `externalId`, such as the id of an invoice, so that a purchase is added once: if it is sent again with the same terms, the answer is 200 with the credit. At most 100 are neither used up, voided nor expired.",
        }),
      ),
    HttpApiEndpoint.get("get", "/credits/:creditId", {
      params: credit,
      success: Credit,
      error: CreditNotFound,
    })
      .annotate(RequiredScope, "read:licenses")
      .annotateMerge(
        OpenApi.annotations({ summary: "Read a credit", description: "Also one that is used up, voided or expired." }),
      ),
    HttpApiEndpoint.delete("void", "/credits/:creditId", {
      params: credit,
      query: dryRunQuery,
      success: [HttpApiSchema.NoContent, VoidCreditDryRun],
      error: CreditNotFound,
    })
      .middleware(DryRuns)
      .annotate(RequiredScope, "write:licenses")
      .annotate(DryRunImpact, "credit")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "voidCredit",
          summary: "Void a credit",
          description:
            "It pays nothing from now on, whatever the timestamp of the usage. What it has paid stays paid. A credit does not change otherwise: void it and add another one.",
        }),
      ),
    HttpApiEndpoint.get("usage", "/credits/:creditId/usage", {
      params: credit,
      query: pageQuery,
      success: Page(CreditUse),
      error: [CreditNotFound, InvalidCursor],
    })
      .annotate(RequiredScope, "read:licenses")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "listCreditUses",
          summary: "List what a credit paid",
          description:
            "By event of usage, newest first. What was returned to it by a correction is negative; voided events are not in it.",
        }),
      ),
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Credits",
      description: "Amounts that instances have bought to use once, such as top-ups.",
    }),
  ) {}
