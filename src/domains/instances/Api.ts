/** Endpoints of instances. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Created, Idempotency, idempotencyHeaders, RequiredScope } from "../../kernel/contract/Endpoint.ts"
import { exampleBody } from "../../kernel/contract/Example.ts"
import { Page, pageQuery } from "../../kernel/contract/Page.ts"
import { InvalidCursor, ValidationFailed } from "../../kernel/contract/Problem.ts"
import { PathName } from "../../kernel/values/Text.ts"
import {
  CreateInstanceLicenseArchived,
  CreateInstanceSlugTaken,
  InstanceNotFound,
  UpdateInstanceLicenseArchived,
} from "./Errors.ts"
import { CreateInstance, Instance, UpdateInstance } from "./Model.ts"

const instance = { instanceSlug: PathName }

export class InstancesApi extends HttpApiGroup.make("instances")
  .add(
    HttpApiEndpoint.get("list", "/instances", {
      query: {
        ...pageQuery,
        customer: Schema.optionalKey(PathName.annotate({ description: "Slug of the customer" })),
        license: Schema.optionalKey(PathName.annotate({ description: "Slug of the license version" })),
        zone: Schema.optionalKey(PathName.annotate({ description: "Slug of the deployment zone" })),
      },
      success: Page(Instance),
      error: InvalidCursor,
    })
      .annotate(RequiredScope, "read:instances")
      .annotateMerge(
        OpenApi.annotations({
          summary: "List instances",
          description: "Newest first. Filters that name nothing give an empty page.",
        }),
      ),
    HttpApiEndpoint.post("create", "/instances", {
      headers: idempotencyHeaders,
      payload: CreateInstance,
      success: Created(Instance),
      error: [CreateInstanceSlugTaken, CreateInstanceLicenseArchived, ValidationFailed],
    })
      .middleware(Idempotency)
      .annotate(RequiredScope, "write:instances")
      .annotateMerge(
        exampleBody({
          name: "Globex production",
          customerSlug: "globex",
          licenseFamilySlug: "pro",
          startLicenseDate: "2026-01-01T00:00:00Z",
          endLicenseDate: "2027-01-01T00:00:00Z",
        }),
      )
      .annotateMerge(
        OpenApi.annotations({
          summary: "Create an instance",
          description:
            "Exactly one of `customerId` and `customerSlug` names the customer, exactly one of `licenseId`, `licenseSlug` and `licenseFamilySlug` the license version; a family stands for its current version. A draft can be assigned, an archived version cannot. `endLicenseDate` is after `startLicenseDate`. Without a slug the instance gets one from its name.",
        }),
      ),
    HttpApiEndpoint.get("get", "/instances/:instanceSlug", {
      params: instance,
      success: Instance,
      error: InstanceNotFound,
    })
      .annotate(RequiredScope, "read:instances")
      .annotateMerge(OpenApi.annotations({ summary: "Read an instance" })),
    HttpApiEndpoint.patch("update", "/instances/:instanceSlug", {
      params: instance,
      payload: UpdateInstance,
      success: Instance,
      error: [InstanceNotFound, UpdateInstanceLicenseArchived, ValidationFailed],
    })
      .annotate(RequiredScope, "write:instances")
      .annotateMerge(exampleBody({ endLicenseDate: "2028-01-01T00:00:00Z" }))
      .annotateMerge(
        OpenApi.annotations({
          summary: "Change an instance",
          description:
            "Missing members stay as they are; `null` clears `description`, `deploymentZoneId` and `metadata`. An instance keeps the license version it has after that was archived; assigning it anew to another instance is refused. The slug never changes.",
        }),
      ),
    HttpApiEndpoint.delete("delete", "/instances/:instanceSlug", {
      params: instance,
      success: HttpApiSchema.NoContent,
      error: InstanceNotFound,
    })
      .annotate(RequiredScope, "write:instances")
      .annotateMerge(OpenApi.annotations({ summary: "Delete an instance", description: "Its usage goes with it." })),
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Instances",
      description: "What customers run: each is assigned a license version from one date to another.",
    }),
  ) {}
