/** The check that consumes: it uses what it allows, all of it or nothing. */
import { Context, Effect, Exit, Layer } from "effect"
import { InstanceNotFound } from "../../instances/Errors.ts"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { invalid, MissingScope, noSuch } from "../../../kernel/contract/Problem.ts"
import type { ValidationFailed } from "../../../kernel/contract/Problem.ts"
import { allows } from "../../../kernel/contract/Scope.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { Ledger } from "../ledger/Ledger.ts"
import type { Operation, PreparedOperation } from "../ledger/Operation.ts"
import type { CheckedInstance } from "../rules/Terms.ts"
import type { AsOf } from "../terms/TermsSql.ts"
import { consumeValidationError, decideConsumption, isMetered } from "./ConsumptionRules.ts"
import type { CheckRequest, CheckResult } from "./Model.ts"
import { CheckRepo } from "./Repo.ts"

type Rejection = InstanceNotFound | ValidationFailed

/** Finds the instance of a check whose entitlements all do not exist, or fails. */
type FindInstance = (
  organizationId: OrganizationId,
  slug: string,
  asOf: AsOf & { readonly explain: boolean },
) => Effect.Effect<CheckedInstance, InstanceNotFound>

const consumeOperation = (
  { actor, organizationId }: Caller["Service"],
  instanceSlug: string,
  { checks, explain = false }: CheckRequest,
  findInstance: FindInstance,
): Operation<CheckResult, Rejection> => ({
  organizationId,
  meters: checks.map(({ entitlement }) => ({ instance: instanceSlug, entitlement })),
  explain,
  prepare: (found, at) => {
    const meters = new Map(found.map((meter) => [meter.entitlement, meter] as const))
    const error = consumeValidationError(checks, meters)
    if (error !== undefined) return Effect.fail(error)
    const prepared = (instance: CheckedInstance): PreparedOperation<CheckResult, Rejection> => ({
      uses: found.filter(isMetered).map((meter) => ({ meter, at, uniqueKey: null })),
      decide: (accounts) => {
        const decided = decideConsumption({ checks, explain, instance, meters }, accounts, { actor, at })
        return { answer: Exit.succeed(decided.result), accounts: decided.accounts }
      },
    })
    const [instance] = found
    return instance === undefined
      ? Effect.map(findInstance(organizationId, instanceSlug, { at, known: at, explain }), prepared)
      : prepared(instance)
  },
})

/** Checks that use what they allow. */
export class Consumption extends Context.Service<
  Consumption,
  {
    /**
     * Decides a check, and counts what it consumes if all of its entitlements allow it. Needs the scope
     * `write:instances`.
     */
    readonly consume: (
      instanceSlug: string,
      request: CheckRequest,
    ) => Effect.Effect<CheckResult, MissingScope | Rejection, Caller>
  }
>()("keyshelf/usage/check/Consumption") {
  static readonly layer = Layer.suspend(() => Layer.effect(Consumption, make))
}

const make = Effect.gen(function* () {
  const repo = yield* CheckRepo
  const ledger = yield* Ledger

  const findInstance: FindInstance = Effect.fnUntraced(function* (organizationId, slug, asOf) {
    const [instance] = yield* repo.findForCheck(organizationId, slug, [], asOf)
    return instance ?? (yield* new InstanceNotFound({ detail: noSuch("instance", slug) }))
  })

  const consume = Effect.fn("Consumption.consume")(function* (instanceSlug: string, request: CheckRequest) {
    const caller = yield* Caller
    if (!allows(caller.scopes, "write:instances")) {
      return yield* new MissingScope({ detail: "Consuming needs the scope write:instances." })
    }
    if (request.at !== undefined) return yield* invalid("body.at", "must be omitted with `consume`", request.at)
    return yield* ledger.apply(consumeOperation(caller, instanceSlug, request, findInstance))
  })

  return { consume }
})
