/** `GET /changes`: a stream that says when instances should fetch again. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { OpenToLicenseKeys, RequiredScope } from "../../../kernel/contract/Endpoint.ts"
import { InvalidCredential, NotAcceptable } from "../../../kernel/contract/Problem.ts"
import { EVENT_STREAM } from "../../../kernel/values/MediaTypes.ts"
import { PathName } from "../../../kernel/values/Text.ts"
import { FollowChangesNodeFull, FollowChangesTooManyStreams } from "../../events/changes/Errors.ts"
import { describeStream } from "../../events/changes/StreamModel.ts"
import { InstanceNotFound } from "../Errors.ts"

const MAX_INSTANCES = 1000

const Instances = Schema.Array(PathName).check(
  Schema.isMaxLength(MAX_INSTANCES, { expected: `at most ${MAX_INSTANCES} slugs of instances` }),
)

export class ChangesApi extends HttpApiGroup.make("changes")
  .add(
    HttpApiEndpoint.get("follow", "/changes", {
      query: {
        instance: Schema.optionalKey(Instances).annotate({
          description: `Slug of an instance to follow; can be repeated, up to ${MAX_INSTANCES} times. Without it, all instances of the organization. A license key follows its own`,
        }),
      },
      success: HttpApiSchema.StreamUint8Array({ contentType: EVENT_STREAM }),
      error: [InstanceNotFound, InvalidCredential, NotAcceptable, FollowChangesTooManyStreams, FollowChangesNodeFull],
    })
      .annotate(RequiredScope, "read:instances")
      .annotate(OpenToLicenseKeys, "by-service")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "followChanges",
          summary: "Follow changes of instances",
          description:
            "A stream of Server-Sent Events. A frame says that something changed which decides what instances may do, and never what: fetch the snapshot again. It names the `instance`, or a `license`, `customer` or `zone` with all its instances, or nothing: all. Frames are not replayed: open the stream first, then fetch, and fetch again after each reconnection. The stream ends with its credential.",
          transform: describeStream,
        }),
      ),
  )
  .annotateMerge(
    OpenApi.annotations({ title: "Changes", description: "When products should fetch again what they decide by." }),
  ) {}
