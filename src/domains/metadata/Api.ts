/** Endpoints of metadata fields. */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { AdminsOnly, Created, Idempotency, idempotencyHeaders, RequiredScope } from "../../kernel/contract/Endpoint.ts"
import { exampleBody } from "../../kernel/contract/Example.ts"
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
          description: "By `displayOrder`, then oldest first. Archived fields are among them, with `archivedAt`.",
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
            "From now on `metadata` of this resource type may have the key. The schema is refused if it is not valid JSON Schema 2020-12, not self-contained, or could make checks slow; each fault names its place, e.g. `body.jsonSchema/properties/code/pattern`. No two active fields of a resource type share a key.",
        }),
      ),
    HttpApiEndpoint.patch("update", "/metadata-fields/:metadataFieldId", {
      params: field,
      payload: UpdateMetadataField,
      success: MetadataField,
      error: [MetadataFieldNotFound, ValidationFailed, AdminOnly],
    })
      .annotate(RequiredScope, "write:metadata_fields")
      .annotate(AdminsOnly, true)
      .annotateMerge(exampleBody({ label: "Hosting region" }))
      .annotateMerge(
        OpenApi.annotations({
          summary: "Change a metadata field",
          description:
            "Key and resource type never change. Values that are stored are not looked at: another schema binds the next write of metadata.",
        }),
      ),
    HttpApiEndpoint.post("archive", "/metadata-fields/:metadataFieldId/archive", {
      params: field,
      headers: idempotencyHeaders,
      success: MetadataField,
      error: [MetadataFieldNotFound, AdminOnly],
    })
      .middleware(Idempotency)
      .annotate(RequiredScope, "write:metadata_fields")
      .annotate(AdminsOnly, true)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Archive a metadata field",
          description:
            "Values that are stored may stay as they are or go, but no longer change. Its key is free for another field. An archived field stays as it is.",
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
          summary: "Bring an archived metadata field back",
          description: "Refused while another active field has its key. An active field stays as it is.",
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
          summary: "Check a value against a metadata field",
          description: "Stores nothing. The answer is 200 for an invalid value too, at most 20 faults of it.",
        }),
      ),
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Metadata fields",
      description: "What the metadata of deployment zones and instances may hold, by JSON Schema.",
    }),
  ) {}
