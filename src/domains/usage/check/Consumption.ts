/** The check that consumes: what is allowed is used at once, all of it or nothing (contract section 9, "Check"). */
import { Context, Effect, Exit, Layer, Option } from "effect"
import { InstanceNotFound } from "../../instances/Errors.ts"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { invalid, MissingScope, noSuch } from "../../../kernel/contract/Problem.ts"
import type { ValidationFailed } from "../../../kernel/contract/Problem.ts"
import { allows } from "../../../kernel/contract/Scope.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { accountName, isConsumable, meterName } from "../ledger/Account.ts"
import type { Account, Accounts } from "../ledger/Account.ts"
import { decideConsumption, consumeValidationError, isMetered } from "./ConsumptionRules.ts"
import type { ConsumeRequest } from "./ConsumptionRules.ts"
import { LockedLedger } from "../ledger/LockedLedger.ts"
import { LedgerRepo } from "../ledger/LedgerRepo.ts"
import type { CheckedInstance } from "../rules/Terms.ts"
import type { CheckRequest, CheckResult } from "./Model.ts"
import { CheckRepo } from "./Repo.ts"
import type { AsOf } from "../TermsSql.ts"
import { callerGroupCommit } from "../ledger/CallerGroupCommit.ts"
import { OptimisticLedger } from "../ledger/OptimisticLedger.ts"
import type { Posting } from "../ledger/OptimisticLedger.ts"

interface Request {
  readonly instanceSlug: string
  readonly asked: CheckRequest["checks"]
  readonly explains: boolean
}

type Refused = InstanceNotFound | ValidationFailed
type Answered = Exit.Exit<CheckResult, Refused>

const make = Effect.gen(function* () {
  const checks = yield* CheckRepo
  const repo = yield* LedgerRepo
  const ledger = yield* LockedLedger
  const unlockedUsage = yield* OptimisticLedger

  // Only unknown entitlements were asked, so only the instance is left to be found.
  const instanceOf = Effect.fnUntraced(function* (
    organizationId: string,
    slug: string,
    moment: AsOf & { readonly explain: boolean },
  ) {
    const [instance] = yield* checks.findForCheck(organizationId, slug, [], moment)
    if (instance === undefined) return yield* new InstanceNotFound({ detail: noSuch("instance", slug) })
    const found: CheckedInstance = instance
    return found
  })

  /** Serves requests of one caller, one after another. Each has its own answer or refusal. */
  const serve = Effect.fnUntraced(function* (requests: ReadonlyArray<Request>) {
    const caller = yield* Caller
    const { organizationId } = caller
    const pairs = new Map(
      requests.flatMap(({ asked, instanceSlug }) =>
        asked.map(({ entitlement }) => {
          const pair = { instance: instanceSlug, entitlement }
          return [meterName(pair), pair] as const
        }),
      ),
    )
    const anyExplains = requests.some(({ explains }) => explains)
    const found = yield* repo.keep(organizationId, [...pairs.values()], anyExplains)
    const at = yield* now
    const byInstance = Map.groupBy(found, ({ instance }) => instance)
    const readable = yield* Effect.forEach(requests, ({ asked, explains, instanceSlug }) => {
      const ofInstance = byInstance.get(instanceSlug) ?? []
      const meters = new Map(ofInstance.map((meter) => [meter.entitlement, meter] as const))
      const fault = consumeValidationError(asked, meters)
      const [first] = ofInstance
      const moment = { at, known: at, explain: explains }
      const known = first === undefined ? instanceOf(organizationId, instanceSlug, moment) : Effect.succeed(first)
      const read: Effect.Effect<ConsumeRequest, Refused> =
        fault === undefined
          ? Effect.map(known, (instance) => ({ asked, explains, instance, meters }))
          : Effect.fail(fault)
      return Effect.exit(read)
    })
    const counted = found
      .filter((meter) => isMetered(meter) && isConsumable(meter))
      .map((meter) => ({ meter, at, uniqueKey: null }))
    let accounts: Accounts =
      counted.length === 0 ? new Map<string, Account>() : yield* ledger.open(organizationId, counted)
    const answers: Array<Answered> = []
    for (const request of readable) {
      if (Exit.isFailure(request)) {
        answers.push(Exit.failCause(request.cause))
        continue
      }
      const { accounts: left, answer } = decideConsumption(request.value, accounts, { actor: caller.actor, at })
      accounts = left
      answers.push(Exit.succeed(answer))
    }
    yield* ledger.close(caller, [...accounts.values()])
    return answers
  })

  const answered = yield* callerGroupCommit(serve)

  /** The same for one request, as far as it can do without locks. */
  const postingOf = (
    { actor, organizationId }: Caller["Service"],
    { asked, explains, instanceSlug }: Request,
  ): Posting<CheckResult> => ({
    organizationId,
    names: asked.map(({ entitlement }) => ({ instance: instanceSlug, entitlement })),
    decide: (found, accounts, at) => {
      const [instance] = found
      const meters = new Map(found.map((meter) => [meter.entitlement, meter] as const))
      const isUsed = found.every((meter) => !isMetered(meter) || accounts.has(accountName({ meter, at })))
      return instance === undefined || !isUsed || consumeValidationError(asked, meters) !== undefined
        ? undefined
        : decideConsumption({ asked, explains, instance, meters }, accounts, { actor, at })
    },
  })

  const consume = Effect.fn("Consumption.consume")(function* (
    instanceSlug: string,
    { at, checks: asked, explain: explains = false }: CheckRequest,
  ) {
    const caller = yield* Caller
    if (!allows(caller.scopes, "write:instances")) {
      return yield* new MissingScope({ detail: "Consuming needs the scope write:instances." })
    }
    if (at !== undefined) return yield* invalid("body.at", "cannot be chosen when consuming", at)
    const request = { instanceSlug, asked, explains }
    const unlocked = explains ? Option.none() : yield* unlockedUsage.post(postingOf(caller, request))
    return Option.isSome(unlocked) ? unlocked.value : yield* answered(request)
  })

  return { consume }
})

/** Checks that use what they allow. */
export class Consumption extends Context.Service<Consumption, Effect.Success<typeof make>>()(
  "keyshelf/usage/check/Consumption",
) {
  static readonly layer = Layer.effect(Consumption, make)
}
