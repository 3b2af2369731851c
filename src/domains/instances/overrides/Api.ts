/** Endpoints of overrides. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { RequiredScope } from "../../../kernel/contract/Endpoint.ts"
import { exampleBody } from "../../../kernel/contract/Example.ts"
import { rewritable } from "../../../kernel/contract/Rewritable.ts"
import { Page, pageQuery } from "../../../kernel/contract/Page.ts"
import { InvalidCursor, ValidationFailed } from "../../../kernel/contract/Problem.ts"
import { PathName } from "../../../kernel/values/Text.ts"
import { EntitlementNotFound } from "../../entitlements/Errors.ts"
import { InstanceNotFound, OverrideNotFound } from "../Errors.ts"
import { Override, PutOverride } from "./Model.ts"

const instance = { instanceSlug: PathName }
const override = { ...instance, entitlementSlug: PathName }
const PATH = "/instances/:instanceSlug/entitlements/:entitlementSlug/override"

export class OverridesApi extends HttpApiGroup.make("overrides")
  .add(
    HttpApiEndpoint.get("list", "/instances/:instanceSlug/overrides", {
      params: instance,
      query: {
        ...pageQuery,
        history: Schema.optionalKey(
          Schema.Literals(["true", "false"]).annotate({ description: "Whether to include those that ended" }),
        ),
      },
      success: Page(Override),
      error: [InstanceNotFound, InvalidCursor],
    })
      .annotate(RequiredScope, "read:licenses")
      .annotateMerge(
        OpenApi.annotations({
          summary: "List the overrides of an instance",
          description: "Those in force and those that start later, newest first.",
        }),
      ),
    HttpApiEndpoint.get("get", PATH, {
      params: override,
      success: Override,
      error: [InstanceNotFound, OverrideNotFound],
    })
      .annotate(RequiredScope, "read:licenses")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Read an override",
          description:
            "The one in force, or the one that starts later. One that ended is listed with `history=true` only.",
        }),
      ),
    HttpApiEndpoint.put("put", PATH, {
      params: override,
      payload: rewritable(Override, PutOverride),
      success: Override,
      error: [InstanceNotFound, EntitlementNotFound, ValidationFailed],
    })
      .annotate(RequiredScope, "write:licenses")
      .annotateMerge(
        exampleBody({ mode: "ADD", value: 5_000, endsAt: "2099-04-30T00:00:00Z", reason: "Launch campaign" }),
      )
      .annotateMerge(
        OpenApi.annotations({
          summary: "Override an entitlement of an instance",
          description:
            "Gives one instance other terms than its license. `SET` replaces the value, and also grants what the license does not. `ADD` adds to the number of the license, or to 0 if it grants nothing; unlimited stays unlimited. The override replaces the current one of the entitlement, unless it says the same. It is in force from `startsAt` until `endsAt`, and stays when the instance gets another license. `startsAt` must not be in the past, except that of the current override: then the new one starts now. All checks, reports, reservations and flags follow it.",
        }),
      ),
    HttpApiEndpoint.delete("delete", PATH, {
      params: override,
      success: HttpApiSchema.NoContent,
      error: [InstanceNotFound, EntitlementNotFound, OverrideNotFound],
    })
      .annotate(RequiredScope, "write:licenses")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Remove an override",
          description: "The terms of the license apply again at once. Answers about the past stay.",
        }),
      ),
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Overrides",
      description: "Other terms than those of the license, for one instance and a time.",
    }),
  ) {}
