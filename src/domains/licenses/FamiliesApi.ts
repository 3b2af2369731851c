/** Endpoints of license families. */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { RequiredScope } from "../../kernel/contract/Endpoint.ts"
import { Page, pageQuery } from "../../kernel/contract/Page.ts"
import { InvalidCursor } from "../../kernel/contract/Problem.ts"
import { PathName } from "../../kernel/values/Text.ts"
import { GetLicenseFamilyNoPublishedVersion, LicenseFamilyNotFound, LicenseNotFound } from "./Errors.ts"
import { familyQuery, LicenseFamily, ResolvedLicenseFamily } from "./Model.ts"

export class LicenseFamiliesApi extends HttpApiGroup.make("licenseFamilies")
  .add(
    HttpApiEndpoint.get("list", "/license-families", {
      query: pageQuery,
      success: Page(LicenseFamily),
      error: InvalidCursor,
    })
      .annotate(RequiredScope, "read:licenses")
      .annotateMerge(
        OpenApi.annotations({
          summary: "List license families",
          description: "Newest first. `currentVersion` is `null` while no version is published.",
        }),
      ),
    HttpApiEndpoint.get("get", "/license-families/:licenseFamilySlug", {
      params: { licenseFamilySlug: PathName },
      query: familyQuery,
      success: ResolvedLicenseFamily,
      error: [LicenseFamilyNotFound, LicenseNotFound, GetLicenseFamilyNoPublishedVersion],
    })
      .annotate(RequiredScope, "read:licenses")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Resolve a license family",
          description:
            "`currentVersion` is the default version, otherwise the highest published version. A family without a published version returns 404, unless `version` or `include` is sent: `currentVersion` is then `null`. `version` also returns the version with that number, `include=versions` all versions.",
        }),
      ),
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "License families",
      description: "A family groups all versions of a license and resolves to one of them.",
    }),
  ) {}
