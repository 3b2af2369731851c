/** The routes of an edge: what it answers itself, and everything else of the API, which it forwards. */
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { OfrepApi } from "../../domains/flags/ofrep/Api.ts"
import { OfrepStreamsApi } from "../../domains/flags/ofrep/streams/Api.ts"
import * as OfrepStreamsHttp from "../../domains/flags/ofrep/streams/Http.ts"
import { ChangesApi } from "../../domains/instances/following/Api.ts"
import * as ChangesHttp from "../../domains/instances/following/Http.ts"
import { SnapshotsApi } from "../../domains/offline/snapshots/Api.ts"
import { CheckApi } from "../../domains/usage/check/Api.ts"
import { publicAccess } from "../../http/middleware/Authentication.ts"
import * as MethodNotAllowed from "../../http/middleware/MethodNotAllowed.ts"
import * as ProblemResponses from "../../http/middleware/ProblemResponses.ts"
import * as RequestValidation from "../../http/middleware/RequestValidation.ts"
import * as Metrics from "../../infra/telemetry/Metrics.ts"
import * as Apis from "../../kernel/contract/Apis.ts"
import { Edge } from "../Edge.ts"
import { middlewares, requireCredential } from "./Access.ts"
import * as CheckHttp from "./CheckHttp.ts"
import { makeForward } from "./Forwarding.ts"
import { originAway } from "./Responses.ts"
import * as Health from "./Health.ts"
import * as OfrepHttp from "./OfrepHttp.ts"
import * as SnapshotHttp from "./SnapshotHttp.ts"

/** The operations that an edge answers itself. */
class EdgeApi extends Apis.core(CheckApi, OfrepApi, SnapshotsApi, ChangesApi).addHttpApi(Apis.open(OfrepStreamsApi)) {}

const handlers = Layer.mergeAll(
  CheckHttp.check,
  OfrepHttp.ofrep,
  SnapshotHttp.snapshots,
  ChangesHttp.changes,
  OfrepStreamsHttp.ofrepStreams,
)

/** Operations that need no credential: key sets and revocation lists. */
const PUBLIC = /^\/api\/offline\/([^/?#]+)\/(keys|revocations)(?:$|\?)/

const forwarded = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { credentials, keySets } = yield* Edge
    const forward = yield* makeForward

    /** A key set, also while the origin is away: products that start behind the edge need it. */
    const keys = (organization: string) =>
      Effect.flatMap(forward.ifAble, (response) =>
        response === undefined
          ? Effect.map(
              Effect.promise(() => keySets.stored(organization)),
              (text) =>
                text === undefined ? originAway : HttpServerResponse.text(text, { contentType: "application/json" }),
            )
          : Effect.succeed(response),
      )

    yield* router.add(
      "*",
      "/api/*",
      Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ url }) => {
        const [, organization, document] = PUBLIC.exec(url) ?? []
        if (organization === undefined) return requireCredential(credentials, forward.always)
        return document === "keys" ? keys(organization) : forward.always
      }),
    )
  }),
)

/** The routes of an edge. */
export const routes = Layer.mergeAll(
  HttpApiBuilder.layer(EdgeApi).pipe(Layer.provide(handlers)),
  forwarded,
  Health.layer,
  Metrics.layer,
  MethodNotAllowed.readOnly("/health/live", "/health/ready", "/metrics"),
).pipe(Layer.provide([middlewares, RequestValidation.layer, publicAccess]), Layer.provideMerge(ProblemResponses.layer))
