/** Health of an edge. It is ready if each license key has a snapshot that answers, fetched or restored. */
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { standingOf } from "../answers/Standing.ts"
import type { Credential } from "../credentials/Credential.ts"
import { Edge } from "../Edge.ts"

/** Whether a license key can be served. A token names no instance before its first request. */
const isReady = ({ instances }: Edge["Service"], credential: Credential): boolean => {
  const { state } = credential
  if (state.isDenied) return true
  if (state.identity === null) return false
  const { instance } = state.identity
  if (instance === undefined) return true
  const used = instances.find(credential, instance.slug)
  return used !== undefined && standingOf(used).by === "snapshot"
}

/** `GET /health/live` and `GET /health/ready`. Probes are not traced. */
export const layer: Layer.Layer<never, never, Edge | HttpRouter.HttpRouter> = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const edge = yield* Edge
    const ready = Effect.sync(() => {
      const waiting = Array.from(edge.credentials.all()).filter((credential) => !isReady(edge, credential)).length
      return waiting === 0
        ? HttpServerResponse.jsonUnsafe({ status: "ready" })
        : HttpServerResponse.text(
            JSON.stringify({ detail: `Not ready: ${waiting} credentials have no snapshot that answers.` }),
            { status: 503, contentType: "application/problem+json" },
          )
    })
    yield* router.add("GET", "/health/live", HttpServerResponse.jsonUnsafe({ status: "alive" }))
    yield* router.add("GET", "/health/ready", Effect.withTracerEnabled(ready, false))
  }),
)
