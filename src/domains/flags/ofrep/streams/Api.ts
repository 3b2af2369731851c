/** The event stream that a bulk evaluation names. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Public } from "../../../../kernel/contract/Endpoint.ts"
import { InvalidCredential, NotAcceptable } from "../../../../kernel/contract/Problem.ts"
import { EVENT_STREAM } from "../../../../kernel/values/MediaTypes.ts"
import { describeStream } from "../../../events/changes/StreamModel.ts"
import { FollowChangesNodeFull, FollowChangesTooManyStreams } from "../../../events/changes/Errors.ts"

export class OfrepStreamsApi extends HttpApiGroup.make("ofrepStreams")
  .add(
    HttpApiEndpoint.get("follow", "/ofrep/v1/streams/:ticket", {
      params: { ticket: Schema.String.annotate({ description: "The ticket of a bulk evaluation" }) },
      success: HttpApiSchema.StreamUint8Array({ contentType: EVENT_STREAM }),
      error: [InvalidCredential, NotAcceptable, FollowChangesTooManyStreams, FollowChangesNodeFull],
    })
      .annotate(Public, true)
      .annotateMerge(
        OpenApi.annotations({
          identifier: "followFlags",
          summary: "Follow changes of evaluated flags",
          description:
            "The stream that `eventStreams` of a bulk evaluation names. Each `refetchEvaluation` says that flags may evaluate differently. The path has a ticket of 24 hours, which works until its credential ends, and needs no other credential. A ticket that does not work is 401: evaluate again.",
          transform: describeStream,
        }),
      ),
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Flag streams",
      description: "Changes of evaluated flags, for OpenFeature providers.",
    }),
  ) {}
