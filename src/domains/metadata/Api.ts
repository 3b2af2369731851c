/** Endpoints of metadata fields. */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { AdminsOnly, Created, Idempotency, idempotencyHeaders, RequiredScope } from "../../kernel/contract/Endpoint.ts"
import { exampleBody } from "../../kernel/contract/Example.ts"
import { rewritable } from "../../kernel/contract/Rewritable.ts"
import { DryRunImpact, DryRunOf, DryRuns, dryRunQuery } from "../../kernel/contract/dryruns/DryRun.ts"
import { MetadataFieldImpact } from "../../kernel/contract/dryruns/ImpactModels.ts"
import { Uuid } from "../../kernel/values/Identifiers.ts"
import { Page, pageQuery } from "../../kernel/contract/Page.ts"
import { AdminOnly, InvalidCursor, ValidationFailed } from "../../kernel/contract/Problem.ts"
import { CreateMetadataFieldKeyTaken, MetadataFieldNotFound, UnarchiveMetadataFieldKeyTaken } from "./Errors.ts"
import {
  CreateMetadataField,
  DryRun,
  MetadataField,
  metadataFieldFilters,
  UpdateMetadataField,
  Verdict,
} from "./Model.ts"

const field = { metadataFieldId: Uuid }

const MetadataFieldChangeDryRun = DryRunOf("MetadataFieldChange", {
  status: 200,
  body: MetadataField,
  impact: MetadataFieldImpact,
})

export class MetadataFieldsApi extends HttpApiGroup.make("metadataFields")
  .add(
    HttpApiEndpoint.get("list", "/metadata-fields", {
      query: { ...pageQuery, ...metadataFieldFilters },
      success: Page(MetadataField),
      error: InvalidCursor,
    })
      .annotate(RequiredScope, "read:metadata_fields")
      .annotateMerge(
        OpenApi.annotations({
          summary: "List metadata fields",
          description:
            "Sorted by `displayOrder`, then oldest first. Includes archived fields, which have `archivedAt`.",
        }),
      ),
    HttpApiEndpoint.post("create", "/metadata-fields", {
      headers: idempotencyHeaders,
      payload: CreateMetadataField,
      success: Created(MetadataField),
      error: [CreateMetadataFieldKeyTaken, ValidationFailed, AdminOnly],
    })
      .middleware(Idempotency)
      .annotate(RequiredScope, "write:metadata_fields")
      .annotate(AdminsOnly, true)
      .annotateMerge(
        exampleBody({
          key: "region",
          label: "Region",
          resourceType: "DEPLOYMENT_ZONE",
          jsonSchema: { type: "string", enum: ["eu", "us"] },
        }),
      )
      .annotateMerge(
        OpenApi.annotations({
          summary: "Create a metadata field",
          description:
            "Defines a key that the `metadata` of this resource type can have. A schema is rejected if it is not valid JSON Schema 2020-12, not self-contained, or too expensive to check. Each error has its location, e.g. `body.jsonSchema/properties/code/pattern`. Two active fields of a resource type cannot share a key.",
        }),
      ),
    HttpApiEndpoint.patch("update", "/metadata-fields/:metadataFieldId", {
      params: field,
      payload: rewritable(MetadataField, UpdateMetadataField),
      query: dryRunQuery,
      success: [MetadataField, MetadataFieldChangeDryRun],
      error: [MetadataFieldNotFound, ValidationFailed, AdminOnly],
    })
      .middleware(DryRuns)
      .annotate(RequiredScope, "write:metadata_fields")
      .annotate(DryRunImpact, "metadata-field")
      .annotate(AdminsOnly, true)
      .annotateMerge(exampleBody({ label: "Hosting region" }))
      .annotateMerge(
        OpenApi.annotations({
          summary: "Update a metadata field",
          description:
            "Omitted properties stay unchanged. The key and the resource type are immutable. Stored values are not checked again: a new schema applies to the next write of metadata.",
        }),
      ),
    HttpApiEndpoint.post("archive", "/metadata-fields/:metadataFieldId/archive", {
      params: field,
      headers: idempotencyHeaders,
      query: dryRunQuery,
      success: [MetadataField, MetadataFieldChangeDryRun],
      error: [MetadataFieldNotFound, AdminOnly],
    })
      .middleware(Idempotency)
      .middleware(DryRuns)
      .annotate(RequiredScope, "write:metadata_fields")
      .annotate(DryRunImpact, "metadata-field")
      .annotate(AdminsOnly, true)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Archive a metadata field",
          description:
            "Resources can retain or remove their stored values, but not change them. The key becomes available for another field. Archiving an archived field has no effect.",
        }),
      ),
    HttpApiEndpoint.post("unarchive", "/metadata-fields/:metadataFieldId/unarchive", {
      params: field,
      headers: idempotencyHeaders,
      success: MetadataField,
      error: [MetadataFieldNotFound, UnarchiveMetadataFieldKeyTaken, AdminOnly],
    })
      .middleware(Idempotency)
      .annotate(RequiredScope, "write:metadata_fields")
      .annotate(AdminsOnly, true)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Unarchive a metadata field",
          description: "Fails while another active field has the same key. Unarchiving an active field has no effect.",
        }),
      ),
    HttpApiEndpoint.post("dryRun", "/metadata-fields/:metadataFieldId/dry-run", {
      params: field,
      headers: idempotencyHeaders,
      payload: DryRun,
      success: Verdict,
      error: [MetadataFieldNotFound, ValidationFailed],
    })
      .middleware(Idempotency)
      .annotate(RequiredScope, "write:metadata_fields")
      .annotateMerge(exampleBody({ value: "eu" }))
      .annotateMerge(
        OpenApi.annotations({
          identifier: "dryRunMetadataField",
          summary: "Check a value against a metadata field",
          description: "Stores nothing. Also returns 200 for an invalid value, with at most 20 validation errors.",
        }),
      ),
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Metadata fields",
      description: "JSON Schemas for the metadata of deployment zones and instances.",
    }),
  ) {}
