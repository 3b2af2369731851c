/** Endpoints of what an instance may have of the releases. */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { OpenToLicenseKeys, RequiredScope } from "../../../kernel/contract/Endpoint.ts"
import { Page, pageQuery } from "../../../kernel/contract/Page.ts"
import { InvalidCursor, ValidationFailed } from "../../../kernel/contract/Problem.ts"
import { PathName } from "../../../kernel/values/Text.ts"
import { InstanceNotFound } from "../../instances/Errors.ts"
import { ReleaseNotFound } from "../../releases/Errors.ts"
import { InstanceRelease, instanceReleaseFilters } from "./Model.ts"

const instance = { instanceSlug: PathName }

export class InstanceReleasesApi extends HttpApiGroup.make("instanceReleases")
  .add(
    HttpApiEndpoint.get("list", "/instances/:instanceSlug/releases", {
      params: instance,
      query: { ...pageQuery, ...instanceReleaseFilters },
      success: Page(InstanceRelease),
      error: [InstanceNotFound, InvalidCursor, ValidationFailed],
    })
      .annotate(RequiredScope, "read:releases")
      .annotate(OpenToLicenseKeys, "by-path")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "listInstanceReleases",
          summary: "List the releases that an instance may have",
          description:
            "Those released last first. Only offered releases are listed. By default those that the instance may have now; with `allowed=any` the others too, each with the reason. License keys need the scope `read:releases`, which they do not have by default.",
        }),
      ),
    HttpApiEndpoint.get("get", "/instances/:instanceSlug/releases/:releaseSlug", {
      params: { ...instance, releaseSlug: PathName },
      success: InstanceRelease,
      error: [InstanceNotFound, ReleaseNotFound],
    })
      .annotate(RequiredScope, "read:releases")
      .annotate(OpenToLicenseKeys, "by-path")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "getInstanceRelease",
          summary: "Decide whether an instance may have a release",
          description:
            "Returns the decision at this moment and the sentence that explains it. It changes nothing and can be repeated. For a license key, a release that is not offered does not exist.",
        }),
      ),
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Releases of instances",
      description:
        "Which releases an instance may have: by its license, its maintenance and the policy of each release.",
    }),
  ) {}
