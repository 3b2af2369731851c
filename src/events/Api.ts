/** `GET /events`. */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { RequiredScope } from "../kernel/Endpoint.ts"
import { EventRecord } from "../kernel/Event.ts"
import { Page, pageQuery } from "../kernel/Page.ts"
import { InvalidCursor } from "../kernel/Problem.ts"

export class EventsApi extends HttpApiGroup.make("events")
  .add(
    HttpApiEndpoint.get("list", "/events", {
      query: pageQuery,
      success: Page(EventRecord),
      error: InvalidCursor,
    })
      .annotate(RequiredScope, "read:organizations")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Read the organization's events",
          description:
            "Every change of the organization, oldest first. `nextCursor` is always usable: keep it and ask again later for what came since.",
        }),
      ),
  )
  .annotateMerge(OpenApi.annotations({ title: "Events", description: "What changed, when, and who changed it." })) {}
