/** Checks and consumption at an edge. */
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { CheckApi } from "../../domains/usage/check/Api.ts"
import type { CheckRequest } from "../../domains/usage/check/Model.ts"
import * as Apis from "../../kernel/contract/Apis.ts"
import { handlersOf } from "../../kernel/contract/Handlers.ts"
import { withSentDigits } from "../../kernel/values/Decimal.ts"
import type { LocalAnswers } from "../../local/index.ts"
import type { Claims } from "../../offline/Model.ts"
import { checksOf, checkText } from "../answers/CheckText.ts"
import { consume, hasOtherNumbers } from "../answers/Spending.ts"
import { knows, standingOf } from "../answers/Standing.ts"
import { Edge } from "../Edge.ts"
import type { EdgeInstance } from "../instances/EdgeInstance.ts"
import { decisionCounter } from "../Metrics.ts"
import { makeForward } from "./Forwarding.ts"
import { originAway, originProblem, sourceHeaders } from "./Responses.ts"
import { useInstance } from "./Using.ts"

/** Answers by what an instance has now. */
const makeRespond = Effect.gen(function* () {
  const count = yield* decisionCounter
  return (instance: EdgeInstance, answersOf: () => LocalAnswers) => {
    const standing = standingOf(instance)
    if (standing.by === "problem") return originProblem(standing.problem, instance.slug)
    if (standing.by === "nothing") return Effect.succeed(originAway)
    const answers = answersOf()
    count(answers)
    return Effect.succeed(
      HttpServerResponse.text(checkText(standing.claims, answers, standing.view.time), {
        contentType: "application/json",
        headers: sourceHeaders(answers),
      }),
    )
  }
})

/** What the edge never answers itself. A key must be known at the origin: the request may have been sent there before. */
const isForOrigin = (request: CheckRequest, idempotencyKey: string | undefined): boolean =>
  request.at !== undefined || request.explain === true || (request.consume === true && idempotencyKey !== undefined)

export const check = handlersOf(
  Apis.core(CheckApi),
  "check",
  Effect.fn(function* (handlers) {
    const { credentials, instances } = yield* Edge
    const forward = yield* makeForward
    const respond = yield* makeRespond

    const answer = (instance: EdgeInstance, request: CheckRequest) => {
      const informed = instances.informed(instance)
      return respond(informed, () => informed.local.answers(checksOf(request), "fail"))
    }

    const spend = Effect.fnUntraced(function* (instance: EdgeInstance, claims: Claims, request: CheckRequest) {
      const checks = checksOf(request)
      if (!instance.credential.mayConsume() || hasOtherNumbers(claims, checks)) return yield* forward.always
      const consumed = yield* Effect.promise((signal) => consume(instances, instance, checks, signal))
      return consumed === undefined ? yield* forward.always : yield* respond(consumed.spender, () => consumed.answers)
    })

    const decide = Effect.fnUntraced(function* (slug: string, request: CheckRequest) {
      const instance = yield* useInstance({ credentials, instances }, slug)
      const standing = standingOf(instance)
      const isKnown =
        standing.by !== "snapshot" || request.checks.every(({ entitlement }) => knows(standing.claims, entitlement))
      // One with very many entitlements does not name all of them.
      const known = isKnown ? undefined : yield* forward.ifAble
      if (known !== undefined) return known
      return yield* standing.by === "snapshot" && request.consume === true
        ? spend(instance, standing.claims, request)
        : answer(instance, request)
    })

    return handlers.handleAll({
      check: ({ headers, params, payload }) =>
        isForOrigin(payload, headers["idempotency-key"])
          ? forward.always
          : Effect.flatMap(withSentDigits(payload, ["checks", "requested"]), (request) =>
              decide(params.instanceSlug, request),
            ),
    })
  }),
)
