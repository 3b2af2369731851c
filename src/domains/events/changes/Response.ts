/** The HTTP response that is a stream of changes. */
import { Effect } from "effect"
import { HttpServerRespondable, HttpServerResponse } from "effect/http"
import type { HttpServerRequest } from "effect/http"
import { NotAcceptable } from "../../../kernel/contract/Problem.ts"
import { acceptsStream, EVENT_STREAM, STREAM_HEADERS } from "../../../kernel/values/MediaTypes.ts"
import type { FollowEventsTooManyStreams } from "../Errors.ts"
import type { FollowChangesNodeFull, FollowChangesTooManyStreams } from "./Errors.ts"

const RETRY_AFTER_SECONDS = "15"

/** Fails unless the client accepts a stream. */
export const requireStreamAccepted = ({ headers }: HttpServerRequest.HttpServerRequest) =>
  acceptsStream(headers["accept"])
    ? Effect.void
    : Effect.fail(
        new NotAcceptable({
          detail: `This operation returns a stream. Send \`accept: ${EVENT_STREAM}\`, or poll instead.`,
        }),
      )

/** The response with a stream of changes. */
export const streamResponse = (body: unknown): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.raw(body, { contentType: EVENT_STREAM, headers: STREAM_HEADERS })

/** The response to a client that a limit rejects: it says when to try again. */
export const rejectedByLimit = (
  problem: FollowChangesTooManyStreams | FollowChangesNodeFull | FollowEventsTooManyStreams,
) =>
  Effect.map(
    HttpServerRespondable.toResponse(problem),
    HttpServerResponse.setHeader("retry-after", RETRY_AFTER_SECONDS),
  )
