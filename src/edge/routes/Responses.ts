/** Responses of an edge that are not those of its origin. */
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import type { LocalAnswers } from "../../local/index.ts"
import { instanceNotFound } from "../../domains/instances/Errors.ts"
import type { OriginProblem } from "../origin/Replies.ts"
import { HttpServerRespondable } from "effect/http"

const PROBLEM = "application/problem+json"

/** 503: nothing can answer. */
export const unavailable = (detail: string): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.text(JSON.stringify({ detail }), { status: 503, contentType: PROBLEM })

/** The origin is away, and nothing that is stored answers. */
export const originAway = unavailable(
  "This edge cannot reach its origin, and has nothing that answers. Try again shortly.",
)

/** The problem that the origin answered for an instance. */
export const originProblem = (
  problem: OriginProblem | undefined,
  slug: string,
): Effect.Effect<HttpServerResponse.HttpServerResponse> =>
  problem === undefined
    ? HttpServerRespondable.toResponse(instanceNotFound(slug))
    : Effect.succeed(
        HttpServerResponse.text(JSON.stringify(problem.document), { status: problem.status, contentType: PROBLEM }),
      )

const secondsOf = (ageMs: number | null): string => String(Math.floor((ageMs ?? 0) / 1000))

/** How old the knowledge of an answer is, in whole seconds, and whether the vendor's policy answered. */
export const sourceHeaders = ({ ageMs, source }: Pick<LocalAnswers, "ageMs" | "source">): Record<string, string> => ({
  "keyshelf-age": secondsOf(ageMs),
  ...(source === "policy" ? { "keyshelf-source": "policy" } : {}),
})
