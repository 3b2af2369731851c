/** `GET /overview`: what to look at first. */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { RequiredScope } from "../../kernel/contract/Endpoint.ts"
import { Overview } from "./Model.ts"

export class OverviewApi extends HttpApiGroup.make("overview")
  .add(
    HttpApiEndpoint.get("get", "/overview", { success: Overview })
      .annotate(RequiredScope, "read:instances")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "getOverview",
          summary: "Read the overview",
          description:
            "Counts of customers and instances, exact up to 10,000, the instances whose license ends soon or that are in grace, and which of its first records a new organization has.",
        }),
      ),
  )
  .annotateMerge(
    OpenApi.annotations({ title: "Overview", description: "How many records there are, and whose access ends." }),
  ) {}
