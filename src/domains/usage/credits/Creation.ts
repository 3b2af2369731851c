/** Adds credits to instances. */
import { Effect, Option } from "effect"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { failWithErrors, noSuch } from "../../../kernel/contract/Problem.ts"
import { Transactions } from "../../../kernel/database/Transactions.ts"
import { decimalOfAmount, decimalText } from "../../../kernel/values/Decimal.ts"
import { newId } from "../../../kernel/values/Identifiers.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { EntitlementNotFound } from "../../entitlements/Errors.ts"
import { Entitlements } from "../../entitlements/Service.ts"
import { Events } from "../../events/Service.ts"
import { InstanceExtras } from "../../instances/addons/Extras.ts"
import { CreateCreditExternalIdTaken, CreateCreditLimitReached } from "../Errors.ts"
import { DEFAULT_PRIORITY } from "./Model.ts"
import type { CreateCredit, Credit, CreditRow } from "./Model.ts"
import { CreditsRepo } from "./Repo.ts"
import { creationErrors, eventDataOf, isRepeated, MAX_OPEN, recordOf } from "./Rules.ts"

/** What became of a request to add a credit. */
export interface CreatedCredit {
  /** Whether it was added now. */
  readonly isNew: boolean
  readonly credit: Credit
}

/** The credit that a request repeats by its external id. */
const repeated = (
  found: Option.Option<CreditRow>,
  body: CreateCredit,
  key: Pick<CreditRow, "entitlementId" | "instanceId">,
  at: Date,
): Effect.Effect<CreatedCredit | undefined, CreateCreditExternalIdTaken> => {
  if (Option.isNone(found)) return Effect.undefined
  return isRepeated(body, found.value, key)
    ? Effect.succeed({ isNew: false, credit: recordOf(found.value, at) })
    : Effect.fail(
        new CreateCreditExternalIdTaken({
          detail: `The credit ${found.value.id} has the external id "${body.externalId ?? ""}", but other terms. Send another external id.`,
        }),
      )
}

/** Adds a credit with its event. */
export const creation = Effect.gen(function* () {
  const repo = yield* CreditsRepo
  const extras = yield* InstanceExtras
  const entitlements = yield* Entitlements
  const events = yield* Events
  const transactions = yield* Transactions

  return Effect.fn("Credits.create")(function* (instanceSlug: string, entitlementSlug: string, body: CreateCredit) {
    const caller = yield* Caller
    const { actor, organizationId } = caller
    const { amount, expiresAt = null, externalId = null, priority = DEFAULT_PRIORITY, reason = null } = body
    return yield* transactions.run(
      Effect.gen(function* () {
        const instance = yield* extras.lock(instanceSlug)
        const entitlement = yield* entitlements.lockShared(organizationId, entitlementSlug)
        if (Option.isNone(entitlement)) {
          return yield* new EntitlementNotFound({ detail: noSuch("entitlement", entitlementSlug) })
        }
        const at = yield* now
        const key = { instanceId: instance.id, entitlementId: entitlement.value.id }
        const findSame = Effect.flatMap(
          externalId === null ? Effect.succeedNone : repo.findByExternalId(organizationId, externalId, at),
          (found) => repeated(found, body, key, at),
        )
        const earlier = yield* findSame
        if (earlier !== undefined) return earlier
        yield* failWithErrors(creationErrors(body, entitlement.value, at))
        if ((yield* repo.countOpen(organizationId, key, at)) >= MAX_OPEN) {
          return yield* new CreateCreditLimitReached({
            detail: `The instance "${instanceSlug}" has ${MAX_OPEN} credits of "${entitlementSlug}" that are neither used up, voided nor expired. Void one first.`,
          })
        }
        const id = yield* newId
        const row = {
          ...key,
          id,
          amount: decimalText(decimalOfAmount(amount)),
          priority,
          startsAt: body.startsAt ?? at,
          expiresAt,
          reason,
          externalId,
          createdAt: at,
          createdBy: actor,
        }
        // A request for another instance may have used the external id meanwhile.
        if (!(yield* repo.insert(organizationId, row))) return (yield* findSame) ?? (yield* Effect.die("A lost credit"))
        yield* extras.readCreditsOf(key.instanceId, key.entitlementId)
        const stored = Option.getOrThrow(yield* repo.find(organizationId, id, at))
        yield* events.emit(caller, "CREDIT_CREATED", eventDataOf(stored, at))
        return { isNew: true, credit: recordOf(stored, at) }
      }),
    )
  })
})
