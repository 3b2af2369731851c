/** Snapshots at an edge. Products and other edges that use this edge as their service get them. */
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { SnapshotsApi } from "../../domains/offline/snapshots/Api.ts"
import * as Apis from "../../kernel/contract/Apis.ts"
import { handlersOf } from "../../kernel/contract/Handlers.ts"
import { matchesEtag } from "../../kernel/values/EntityTag.ts"
import type { LocalState } from "../../local/index.ts"
import { standingOf } from "../answers/Standing.ts"
import { Edge } from "../Edge.ts"
import type { EdgeInstance, SentSnapshot } from "../instances/EdgeInstance.ts"
import { originAway, originProblem } from "./Responses.ts"
import { useInstance } from "./Using.ts"

const MAX_AGE_SECONDS = 30
const MAX_FETCHES = 2

/** In these states, the origin has confirmed the snapshot just now. */
const FRESH: ReadonlyArray<LocalState> = ["LIVE", "POLLING"]

const isFresh = ({ isBehind, local }: EdgeInstance): boolean => !isBehind() && FRESH.includes(local.view().state)

/** What an `ETag` of a snapshot says of its content. */
const contentOf = (etag: string | null): string => (etag ?? "").replace(/\.[^.]*$/, "")

/** The snapshot for clients behind the edge, which has no tranche. `undefined` if only one with a tranche is known. */
const sentBy = ({ local, plain }: EdgeInstance): SentSnapshot | undefined => {
  const { snapshot } = local.view()
  if (snapshot === undefined) return undefined
  if (snapshot.claims.tranche === undefined) return { token: snapshot.token, etag: snapshot.etag ?? "" }
  const known = plain()
  return contentOf(known?.etag ?? null) === contentOf(snapshot.etag) ? known : undefined
}

/** Whether the snapshot in force has a tranche, and none without one has the same content. */
const hasTrancheAlone = (instance: EdgeInstance): boolean =>
  instance.local.view().snapshot !== undefined && sentBy(instance) === undefined

export const snapshots = handlersOf(
  Apis.core(SnapshotsApi),
  "snapshots",
  Effect.fn(function* (handlers) {
    const edge = yield* Edge
    return handlers.handleAll({
      get: Effect.fnUntraced(function* ({ headers, params }) {
        const { instanceSlug } = params
        const instance = yield* useInstance(edge, instanceSlug)
        // A product that learned of a change must not get what was before it.
        if (!isFresh(instance)) yield* Effect.promise(() => instance.local.refresh())
        // Refills may overlap a fetch, and then its snapshot is not in force.
        for (let times = 0; times < MAX_FETCHES && hasTrancheAlone(instance); times++) {
          yield* Effect.promise(() => instance.local.refresh())
        }
        const standing = standingOf(instance)
        if (standing.by === "problem") return yield* originProblem(standing.problem, instanceSlug)
        const sent = sentBy(instance)
        if (standing.by === "nothing" || sent === undefined || standing.view.state === "EXPIRED") return originAway
        const { etag, token } = sent
        const cached = {
          etag,
          "cache-control": `private, max-age=${MAX_AGE_SECONDS}`,
          "content-type": "application/jwt",
          "keyshelf-age": String(Math.floor((standing.view.ageMs ?? 0) / 1000)),
        }
        if (!matchesEtag(etag, headers["if-none-match"])) {
          return HttpServerResponse.text(token, { contentType: "application/jwt", headers: cached })
        }
        // Only the origin can confirm what a product has. While it is away, the product's snapshot grows old as the edge's does.
        return isFresh(instance) ? HttpServerResponse.empty({ status: 304, headers: cached }) : originAway
      }),
    })
  }),
)
