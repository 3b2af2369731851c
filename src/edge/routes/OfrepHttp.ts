/** Flags at an edge: evaluated by the rules of snapshots. */
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { OfrepApi } from "../../domains/flags/ofrep/Api.ts"
import { byKey, entitlementNotFound, flagNotFound } from "../../domains/flags/ofrep/Model.ts"
import type { Context, Evaluation } from "../../domains/flags/ofrep/Model.ts"
import { badRequest, bulkResponse, evaluationResponse, withContext } from "../../domains/flags/ofrep/Responses.ts"
import { instanceOf } from "../../domains/flags/ofrep/Service.ts"
import { StreamTickets } from "../../domains/flags/ofrep/streams/Tickets.ts"
import * as Apis from "../../kernel/contract/Apis.ts"
import { handlersOf } from "../../kernel/contract/Handlers.ts"
import type { LocalFlags } from "../../local/index.ts"
import { ENTITLEMENT_PREFIX } from "../../offline/EntitlementFlags.ts"
import { standingOf } from "../answers/Standing.ts"
import { Edge } from "../Edge.ts"
import { makeForward } from "./Forwarding.ts"
import { sourceHeaders } from "./Responses.ts"
import { useInstance } from "./Using.ts"

/** The flags for a context, unless the origin must evaluate them. */
interface KnownFlags {
  readonly flags: LocalFlags
  /** Whether all entitlements of the organization are known. */
  readonly isComplete: boolean
}

const evaluationOf = ({ evaluate }: LocalFlags, key: string): Evaluation =>
  evaluate(key) ?? (key.startsWith(ENTITLEMENT_PREFIX) ? entitlementNotFound(key) : flagNotFound(key))

const makeFlags = Effect.gen(function* () {
  const edge = yield* Edge
  /**
   * Flags are known of the instance that a context is about. The edge has none for other contexts, for credentials that must not read
   * flags, and if their rules are too long for a snapshot.
   */
  return Effect.fnUntraced(function* (context: Context) {
    const slug = yield* instanceOf(context)
    if (slug === undefined) return undefined
    const instance = yield* useInstance(edge, slug)
    const standing = standingOf(instance)
    if (standing.by !== "snapshot") return undefined
    const flags = instance.local.flags(context, "fail")
    if (flags === undefined || flags.source === "policy") return undefined
    return { flags, isComplete: standing.claims.complete === true } satisfies KnownFlags
  })
})

export const ofrep = handlersOf(
  Apis.core(OfrepApi),
  "ofrep",
  Effect.fn(function* (handlers) {
    const tickets = yield* StreamTickets
    const forward = yield* makeForward
    const flagsFor = yield* makeFlags

    const evaluate = Effect.fnUntraced(function* (key: string, context: Context) {
      const known = yield* flagsFor(context)
      if (known === undefined) return yield* forward.always
      const evaluation = evaluationOf(known.flags, key)
      const isUnknown = "errorCode" in evaluation && evaluation.errorCode === "FLAG_NOT_FOUND"
      if (isUnknown && !known.isComplete) return yield* forward.always
      return HttpServerResponse.setHeaders(evaluationResponse(evaluation), sourceHeaders(known.flags))
    })

    const evaluateAll = Effect.fnUntraced(function* (context: Context, headers: Parameters<typeof bulkResponse>[1]) {
      const known = yield* flagsFor(context)
      if (known === undefined || !known.isComplete) return yield* forward.always
      const { flags } = known
      const all = {
        flags: flags
          .keys()
          .map((key) => evaluationOf(flags, key))
          .sort(byKey),
        metadata: {},
      }
      const response = yield* bulkResponse(all, headers, Effect.flatMap(instanceOf(context), tickets.issue))
      return HttpServerResponse.setHeaders(response, sourceHeaders(flags))
    })

    return handlers
      .handleRaw("evaluate", ({ params, request }) =>
        withContext(
          request,
          (failure) => badRequest({ key: params.key, ...failure }),
          (context) => evaluate(params.key, context),
        ),
      )
      .handleRaw("evaluateAll", ({ headers, request }) =>
        withContext(request, badRequest, (context) => evaluateAll(context, headers)),
      )
  }),
)
