/** Endpoints of licenses. */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Created, Idempotency, idempotencyHeaders, RequiredScope } from "../../kernel/contract/Endpoint.ts"
import { exampleBody } from "../../kernel/contract/Example.ts"
import { Page, pageQuery } from "../../kernel/contract/Page.ts"
import { InvalidCursor, ValidationFailed } from "../../kernel/contract/Problem.ts"
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
          description: "Versions of all families, newest first. A family that does not exist gives an empty page.",
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
            "Without a family it opens one, which gets the license's slug. With `familySlug` or `familyId` it becomes the family's next version: it gets the next number, and without a slug `<family>-v<number>`. A new default takes the place of the old one.",
        }),
      ),
    HttpApiEndpoint.get("get", "/licenses/:licenseSlug", {
      params: license,
      success: License,
      error: LicenseNotFound,
    })
      .annotate(RequiredScope, "read:licenses")
      .annotateMerge(OpenApi.annotations({ summary: "Read a license version" })),
    HttpApiEndpoint.put("update", "/licenses/:licenseSlug", {
      params: license,
      payload: UpdateLicense,
      success: HttpApiSchema.NoContent,
      error: [LicenseNotFound, UpdateLicenseDefaultMustBePublished],
    })
      .annotate(RequiredScope, "write:licenses")
      .annotateMerge(exampleBody({ isDefault: false }))
      .annotateMerge(
        OpenApi.annotations({
          summary: "Change a license version",
          description:
            "Missing members stay as they are; `null` clears one. `isDefault: true` takes the default from the version that has it, `false` leaves the family without one, so that it resolves to its highest published version.",
        }),
      ),
    HttpApiEndpoint.delete("delete", "/licenses/:licenseSlug", {
      params: license,
      success: HttpApiSchema.NoContent,
      error: [LicenseNotFound, DeleteLicenseNotADraft, DeleteLicenseInUse],
    })
      .annotate(RequiredScope, "write:licenses")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Delete a draft",
          description:
            "Only a draft that no instance has. Its number is not given again; with its last version a family goes too.",
        }),
      ),
    HttpApiEndpoint.post("publish", "/licenses/:licenseSlug/publish", {
      headers: idempotencyHeaders,
      params: license,
      success: License,
      error: [LicenseNotFound, PublishLicenseNotADraft],
    })
      .middleware(Idempotency)
      .annotate(RequiredScope, "write:licenses")
      .annotateMerge(OpenApi.annotations({ summary: "Publish a draft" })),
    HttpApiEndpoint.post("archive", "/licenses/:licenseSlug/archive", {
      headers: idempotencyHeaders,
      params: license,
      success: License,
      error: [LicenseNotFound, ArchiveLicenseNotPublished, ArchiveLicenseDefaultMustBePublished],
    })
      .middleware(Idempotency)
      .annotate(RequiredScope, "write:licenses")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Archive a published version",
          description:
            "Its family stops resolving to it and no instance can be put on it; instances that have it keep it. The default of a family cannot be archived.",
        }),
      ),
    HttpApiEndpoint.post("unarchive", "/licenses/:licenseSlug/unarchive", {
      headers: idempotencyHeaders,
      params: license,
      success: License,
      error: [LicenseNotFound, UnarchiveLicenseNotArchived],
    })
      .middleware(Idempotency)
      .annotate(RequiredScope, "write:licenses")
      .annotateMerge(OpenApi.annotations({ summary: "Publish an archived version again" })),
  )
  .annotateMerge(
    OpenApi.annotations({ title: "Licenses", description: "What is sold: versions of license families." }),
  ) {}
