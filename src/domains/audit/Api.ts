/** Endpoints of the event log: its checkpoint and its proofs. */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { RequiredScope } from "../../kernel/contract/Endpoint.ts"
import { ValidationFailed } from "../../kernel/contract/Problem.ts"
import { Uuid } from "../../kernel/values/Identifiers.ts"
import { EventCheckpointInconsistent, EventNotFound } from "./Errors.ts"
import { EventCheckpoint, EventConsistency, EventProof, LogSize } from "./Model.ts"

export class EventLogApi extends HttpApiGroup.make("eventLog")
  .add(
    HttpApiEndpoint.get("checkpoint", "/events/checkpoint", {
      success: EventCheckpoint,
      error: EventCheckpointInconsistent,
    })
      .annotate(RequiredScope, "read:organizations")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "getEventCheckpoint",
          summary: "Get the signed checkpoint of the event log",
          description:
            "How many events the log has and the root of their tree, as a C2SP `tlog-checkpoint`, signed with the organization's `audit` key (`verifierKey` of `GET /signing-keys`). Save it outside of the service: it shows later whether events were changed or removed. Rejected with 409 if the log does not follow from its newest checkpoint.",
        }),
      ),
    HttpApiEndpoint.get("proof", "/events/:eventId/proof", {
      params: { eventId: Uuid },
      success: EventProof,
      error: [EventNotFound, EventCheckpointInconsistent],
    })
      .annotate(RequiredScope, "read:organizations")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "getEventProof",
          summary: "Prove that an event is in the log",
          description:
            "A C2SP `tlog-proof` with the newest checkpoint. The leaf is the text of the event as deliveries to webhook endpoints have it, byte for byte.",
        }),
      ),
    HttpApiEndpoint.get("consistency", "/events/consistency", {
      query: {
        from: LogSize.annotate({ description: "The size of an older checkpoint" }),
        to: LogSize.annotate({ description: "The size of a newer checkpoint" }),
      },
      success: EventConsistency,
      error: [EventCheckpointInconsistent, ValidationFailed],
    })
      .annotate(RequiredScope, "read:organizations")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "getEventConsistency",
          summary: "Prove that the event log only grew",
          description:
            "The consistency proof of RFC 6962 between two sizes of the log: the first `from` events are still what they were when the log had `from` events.",
        }),
      ),
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Event log",
      description: "The tamper-evident event log: signed checkpoints, and proofs that others can verify.",
    }),
  ) {}
