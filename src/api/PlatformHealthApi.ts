/** `GET /platform/health`: the state of the process that answers. It belongs to no domain. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { component } from "../kernel/contract/Component.ts"
import { RequiredScope } from "../kernel/contract/Endpoint.ts"

/** A part of the process, such as its database connection. Other properties are figures, or the reason why it is down. */
const HealthPart = Schema.StructWithRest(
  Schema.Struct({ status: Schema.Literals(["up", "down"]).annotate(component("HealthPartStatus", "up")) }),
  [Schema.Record(Schema.String, Schema.Union([Schema.String, Schema.Finite, Schema.Boolean]))],
).annotate(component("HealthPart", { status: "up", tookMs: 2 }))

const PlatformHealth = Schema.Struct({
  status: Schema.Literals(["ready", "not_ready"])
    .annotate(component("HealthStatus", "ready"))
    .annotate({ description: "`ready` if the process can serve requests" }),
  version: Schema.String.annotate({ description: "Version of the service" }),
  parts: Schema.Record(Schema.String, HealthPart).annotate({
    description: "The parts of `GET /health/ready`, by name",
  }),
}).annotate(
  component("PlatformHealth", {
    status: "ready",
    version: "0.1.0",
    parts: { process: { status: "up", phase: "serving" }, database: { status: "up", tookMs: 2 } },
  }),
)

export class PlatformHealthApi extends HttpApiGroup.make("platformHealth")
  .add(
    HttpApiEndpoint.get("get", "/platform/health", { success: PlatformHealth })
      .annotate(RequiredScope, "any-credential")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "getPlatformHealth",
          summary: "Read version and health",
          description:
            "The state of the process that answers. It is 200 also if a part is down: see `status`. If its database is down, no credential can be verified, and the response is 503.",
        }),
      ),
  )
  .annotateMerge(OpenApi.annotations({ title: "Health", description: "Version and health of the installation." })) {}
