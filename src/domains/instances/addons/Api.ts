/** Endpoints of add-ons. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { RequiredScope } from "../../../kernel/contract/Endpoint.ts"
import { DryRunImpact, DryRunOf, DryRuns, dryRunQuery } from "../../../kernel/contract/dryruns/DryRun.ts"
import { ChangingImpact } from "../../../kernel/contract/dryruns/ImpactModels.ts"
import { exampleBody } from "../../../kernel/contract/Example.ts"
import { rewritable } from "../../../kernel/contract/Rewritable.ts"
import { Page, pageQuery } from "../../../kernel/contract/Page.ts"
import { InvalidCursor, ValidationFailed } from "../../../kernel/contract/Problem.ts"
import { PathName } from "../../../kernel/values/Text.ts"
import { LicenseFamilyNotFound } from "../../licenses/Errors.ts"
import { AddOnNotFound, InstanceNotFound, PutAddOnLicenseArchived, PutAddOnLimitReached } from "../Errors.ts"
import { AddOn, PutAddOn } from "./Model.ts"

const instance = { instanceSlug: PathName }
const addOn = { ...instance, familySlug: PathName }
const PATH = "/instances/:instanceSlug/add-ons/:familySlug"

const PutAddOnDryRun = DryRunOf("PutAddOn", { status: 200, body: AddOn, impact: ChangingImpact })
const DeleteAddOnDryRun = DryRunOf("DeleteAddOn", { status: 204, body: Schema.Null, impact: ChangingImpact })

export class AddOnsApi extends HttpApiGroup.make("addOns")
  .add(
    HttpApiEndpoint.get("list", "/instances/:instanceSlug/add-ons", {
      params: instance,
      query: {
        ...pageQuery,
        history: Schema.optionalKey(
          Schema.Literals(["true", "false"]).annotate({ description: "Whether to include those that ended" }),
        ),
      },
      success: Page(AddOn),
      error: [InstanceNotFound, InvalidCursor],
    })
      .annotate(RequiredScope, "read:licenses")
      .annotateMerge(
        OpenApi.annotations({
          summary: "List the add-ons of an instance",
          description: "Those in force and those that are planned, newest first.",
        }),
      ),
    HttpApiEndpoint.get("get", PATH, {
      params: addOn,
      success: AddOn,
      error: [InstanceNotFound, AddOnNotFound],
    })
      .annotate(RequiredScope, "read:licenses")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Read an add-on",
          description:
            "The one in force, otherwise the next one that is planned. Those that ended are listed with `history=true` only.",
        }),
      ),
    HttpApiEndpoint.put("put", PATH, {
      params: addOn,
      payload: rewritable(AddOn, PutAddOn),
      query: dryRunQuery,
      success: [AddOn, PutAddOnDryRun],
      error: [InstanceNotFound, LicenseFamilyNotFound, PutAddOnLicenseArchived, PutAddOnLimitReached, ValidationFailed],
    })
      .middleware(DryRuns)
      .annotate(RequiredScope, "write:licenses")
      .annotate(DryRunImpact, "add-on")
      .annotateMerge(exampleBody({ quantity: 3, endsAt: "2099-01-01T00:00:00Z", reason: "Order 4711" }))
      .annotateMerge(
        OpenApi.annotations({
          summary: "Set an add-on of an instance",
          description:
            "From `startsAt` on, the instance has the add-on with this quantity, until `endsAt`. What is in force before stays until then, what was planned after it is replaced: so a smaller quantity from the renewal on leaves no gap. Send what is paid for as often as you like: a request that changes nothing emits no event. The family must have the type `ADD_ON`. All checks, reports, reservations and flags follow.",
        }),
      ),
    HttpApiEndpoint.delete("delete", PATH, {
      params: addOn,
      query: dryRunQuery,
      success: [HttpApiSchema.NoContent, DeleteAddOnDryRun],
      error: [InstanceNotFound, AddOnNotFound],
    })
      .middleware(DryRuns)
      .annotate(RequiredScope, "write:licenses")
      .annotate(DryRunImpact, "add-on")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Remove an add-on",
          description:
            "It ends at once, and what is planned is dropped. To let it end later, set it with `endsAt`. Answers about the past stay.",
        }),
      ),
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Add-ons",
      description: "What instances have bought beside their license, with a quantity and a window of time.",
    }),
  ) {}
