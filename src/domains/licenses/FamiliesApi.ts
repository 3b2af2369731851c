/** Endpoints of license families. */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { RequiredScope } from "../../kernel/contract/Endpoint.ts"
import { Page, pageQuery } from "../../kernel/contract/Page.ts"
import { InvalidCursor } from "../../kernel/contract/Problem.ts"
import { PathName } from "../../kernel/values/Text.ts"
import { GetLicenseFamilyNoPublishedVersion, LicenseFamilyNotFound } from "./Errors.ts"
import { LicenseFamily } from "./Model.ts"

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
          description: "Newest first, each with the version it resolves to, or `null` while none is published.",
        }),
      ),
    HttpApiEndpoint.get("get", "/license-families/:licenseFamilySlug", {
      params: { licenseFamilySlug: PathName },
      success: LicenseFamily,
      error: [LicenseFamilyNotFound, GetLicenseFamilyNoPublishedVersion],
    })
      .annotate(RequiredScope, "read:licenses")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Resolve a license family",
          description:
            "Its `currentVersion` is the default, else the highest published version. A family without a published version resolves to nothing and answers 404.",
        }),
      ),
  )
  .annotateMerge(
    OpenApi.annotations({ title: "License families", description: "A license through all its versions." }),
  ) {}
