/** Endpoints of licenses. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Created, Idempotency, idempotencyHeaders, RequiredScope } from "../../kernel/contract/Endpoint.ts"
import { exampleBody } from "../../kernel/contract/Example.ts"
import { rewritable } from "../../kernel/contract/Rewritable.ts"
import { Page, pageQuery } from "../../kernel/contract/Page.ts"
import { InvalidCursor, ValidationFailed } from "../../kernel/contract/Problem.ts"
import { DryRunImpact, DryRunOf, DryRuns, dryRunQuery } from "../../kernel/contract/dryruns/DryRun.ts"
import { LicenseImpact } from "../../kernel/contract/dryruns/ImpactModels.ts"
import { PathName } from "../../kernel/values/Text.ts"
import {
  ArchiveLicenseDefaultMustBePublished,
  ArchiveLicenseNotPublished,
  CreateLicenseDefaultMustBePublished,
  CreateLicenseSlugTaken,
  DeleteLicenseInUse,
  DeleteLicenseNotADraft,
  LicenseNotFound,
  PublishLicenseNotADraft,
  UnarchiveLicenseNotArchived,
  UpdateLicenseDefaultMustBePublished,
} from "./Errors.ts"
import { CreateLicense, License, licenseFilters, UpdateLicense } from "./Model.ts"

const license = { licenseSlug: PathName }

const LicenseTransitionDryRun = DryRunOf("LicenseTransition", { status: 200, body: License, impact: LicenseImpact })
const LicenseChangeDryRun = DryRunOf("LicenseChange", { status: 204, body: Schema.Null, impact: LicenseImpact })

export class LicensesApi extends HttpApiGroup.make("licenses")
  .add(
    HttpApiEndpoint.get("list", "/licenses", {
      query: { ...pageQuery, ...licenseFilters },
      success: Page(License),
      error: InvalidCursor,
    })
      .annotate(RequiredScope, "read:licenses")
      .annotateMerge(
        OpenApi.annotations({
          summary: "List licenses",
          description: "Versions of all families, newest first. A filter that matches no record returns an empty page.",
        }),
      ),
    HttpApiEndpoint.post("create", "/licenses", {
      headers: idempotencyHeaders,
      payload: CreateLicense,
      success: Created(License),
      error: [CreateLicenseSlugTaken, CreateLicenseDefaultMustBePublished, ValidationFailed],
    })
      .middleware(Idempotency)
      .annotate(RequiredScope, "write:licenses")
      .annotateMerge(exampleBody({ name: "Pro", slug: "pro", type: "PAID", isDefault: true }))
      .annotateMerge(
        OpenApi.annotations({
          summary: "Create a license version",
          description:
            "Without a family, creates a new family with the slug of the license. With `familySlug` or `familyId`, adds the next version to that family: the slug defaults to `<family>-v<number>`. `isDefault: true` replaces the previous default.",
        }),
      ),
    HttpApiEndpoint.get("get", "/licenses/:licenseSlug", {
      params: license,
      success: License,
      error: LicenseNotFound,
    })
      .annotate(RequiredScope, "read:licenses")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Read a license version",
          description:
            "Returns one version in any lifecycle state. To get the version that a family resolves to now, read the family.",
        }),
      ),
    HttpApiEndpoint.put("update", "/licenses/:licenseSlug", {
      params: license,
      payload: rewritable(License, UpdateLicense),
      query: dryRunQuery,
      success: [HttpApiSchema.NoContent, LicenseChangeDryRun],
      error: [LicenseNotFound, UpdateLicenseDefaultMustBePublished, ValidationFailed],
    })
      .middleware(DryRuns)
      .annotate(RequiredScope, "write:licenses")
      .annotate(DryRunImpact, "license")
      .annotateMerge(exampleBody({ isDefault: false }))
      .annotateMerge(
        OpenApi.annotations({
          summary: "Update a license version",
          description:
            "Omitted properties stay unchanged; `null` clears a property. `isDefault: true` replaces the family's default version. `isDefault: false` removes it: the family then resolves to its highest published version.",
        }),
      ),
    HttpApiEndpoint.delete("delete", "/licenses/:licenseSlug", {
      params: license,
      query: dryRunQuery,
      success: [HttpApiSchema.NoContent, LicenseChangeDryRun],
      error: [LicenseNotFound, DeleteLicenseNotADraft, DeleteLicenseInUse],
    })
      .middleware(DryRuns)
      .annotate(RequiredScope, "write:licenses")
      .annotate(DryRunImpact, "license")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Delete a draft license version",
          description:
            "Only drafts without instances can be deleted. The version number is never reused. Deleting the last version also deletes the family.",
        }),
      ),
    HttpApiEndpoint.post("publish", "/licenses/:licenseSlug/publish", {
      headers: idempotencyHeaders,
      params: license,
      query: dryRunQuery,
      success: [License, LicenseTransitionDryRun],
      error: [LicenseNotFound, PublishLicenseNotADraft],
    })
      .middleware(Idempotency)
      .middleware(DryRuns)
      .annotate(RequiredScope, "write:licenses")
      .annotate(DryRunImpact, "license")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Publish a draft license version",
          description:
            "The family can resolve to the version from now on. A version that is not a draft is rejected with 409.",
        }),
      ),
    HttpApiEndpoint.post("archive", "/licenses/:licenseSlug/archive", {
      headers: idempotencyHeaders,
      params: license,
      query: dryRunQuery,
      success: [License, LicenseTransitionDryRun],
      error: [LicenseNotFound, ArchiveLicenseNotPublished, ArchiveLicenseDefaultMustBePublished],
    })
      .middleware(Idempotency)
      .middleware(DryRuns)
      .annotate(RequiredScope, "write:licenses")
      .annotate(DryRunImpact, "license")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Archive a license version",
          description:
            "The family no longer resolves to the version, and the version cannot be assigned to instances. Instances that already use it keep it. The default of a family cannot be archived.",
        }),
      ),
    HttpApiEndpoint.post("unarchive", "/licenses/:licenseSlug/unarchive", {
      headers: idempotencyHeaders,
      params: license,
      query: dryRunQuery,
      success: [License, LicenseTransitionDryRun],
      error: [LicenseNotFound, UnarchiveLicenseNotArchived],
    })
      .middleware(Idempotency)
      .middleware(DryRuns)
      .annotate(RequiredScope, "write:licenses")
      .annotate(DryRunImpact, "license")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Unarchive a license version",
          description:
            "The version is published again: its family can resolve to it, and instances can be assigned to it. A version that is not archived is rejected with 409.",
        }),
      ),
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Licenses",
      description: "License versions, grouped into families, with a lifecycle state.",
    }),
  ) {}
