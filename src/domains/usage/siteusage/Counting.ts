/** Validates uses that products wrote down, and posts those that count. Uploads and refills count by it. */
import { Effect, Option } from "effect"
import type { BigDecimal } from "effect"
import { Caller, mayLowerUsage } from "../../../kernel/contract/Caller.ts"
import { MissingScope } from "../../../kernel/contract/Problem.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { postEvents } from "../cloudevents/EventPosting.ts"
import type { Outcome } from "../cloudevents/Model.ts"
import type { CountableEvent, ParsedEvent, RejectedEvent } from "../cloudevents/Rules.ts"
import { LOWERING_TEXT } from "../ledger/Acceptance.ts"
import { useOf } from "../ledger/Account.ts"
import type { Account, Accounts, MeterUse } from "../ledger/Account.ts"
import { LedgerRepo } from "../ledger/LedgerRepo.ts"
import type { Meter } from "../ledger/Model.ts"
import type { MeteredInstance, OfflineUse } from "./Model.ts"
import { checkUse, hasCorrection, isValid, parseUse, postPastCap } from "./Rules.ts"

/** A use, and the event that counts or the reason why none does. */
type CheckedUse<Use> = readonly [use: Use, event: CountableEvent | RejectedEvent]

export const bySlug = (meters: ReadonlyArray<Meter>): ReadonlyMap<string, Meter> =>
  new Map(meters.map((meter) => [meter.entitlement, meter] as const))

export const slugsOf = (events: ReadonlyArray<ParsedEvent>): ReadonlyArray<string> => [
  ...new Set(events.map(({ entitlement }) => entitlement)),
]

const outcomeIn = (outcomes: ReadonlyMap<CountableEvent, Outcome>, event: CountableEvent): Outcome =>
  Option.getOrThrow(Option.fromNullishOr(outcomes.get(event)))

type ParsedUse<Use> = readonly [use: Use, event: ParsedEvent | RejectedEvent]

export const parseUses = <Use extends OfflineUse>(
  instance: MeteredInstance,
  uses: ReadonlyArray<Use>,
  at: Date,
): ReadonlyArray<ParsedUse<Use>> => uses.map((use) => [use, parseUse(use.event, instance.slug, at)])

/** The entitlements that valid uses name. */
export const slugsUsed = (
  instance: MeteredInstance,
  uses: ReadonlyArray<OfflineUse>,
  at: Date,
): ReadonlyArray<string> =>
  slugsOf(
    parseUses(instance, uses, at)
      .map(([, event]) => event)
      .filter(isValid),
  )

/** Validates uses for their meters. Returns the places at which the valid ones count. */
export const checkUses = <Use extends OfflineUse>(
  parsed: ReadonlyArray<ParsedUse<Use>>,
  meters: ReadonlyMap<string, Meter>,
): { readonly checked: ReadonlyArray<CheckedUse<Use>>; readonly places: ReadonlyArray<MeterUse> } => {
  const checked = parsed.map(([use, event]): CheckedUse<Use> => [
    use,
    isValid(event) ? checkUse(event, meters.get(event.entitlement), use.window) : event,
  ])
  const places = checked.flatMap(([, event]) => (isValid(event) ? [useOf(event.meter, event)] : []))
  return { checked, places }
}

/** Whether the caller may not make a correction that is among uses. */
export const isForbidden = <Use>(caller: Caller["Service"], checked: ReadonlyArray<CheckedUse<Use>>): boolean =>
  !mayLowerUsage(caller) && hasCorrection(checked.map(([, event]) => event).filter(isValid))

/** What the poster of uses holds of an account for them. */
type HeldFor = (account: Account) => BigDecimal.BigDecimal

/** Posts uses to open accounts, past caps too. Returns the accounts after them, and the outcome of each use. */
export const postUses = <Use>(
  opened: Accounts,
  checked: ReadonlyArray<CheckedUse<Use>>,
  caller: Caller["Service"],
  heldFor: HeldFor,
): { readonly accounts: Accounts; readonly outcomes: ReadonlyMap<Use, Outcome> } => {
  const events = checked.map(([, event]) => event).filter(isValid)
  const { accounts, outcomes } = postEvents(opened, events, caller, (account, event, options) =>
    postPastCap(account, event, options, heldFor(account)),
  )
  return {
    accounts,
    outcomes: new Map(
      checked.map(([use, event]) => [use, isValid(event) ? outcomeIn(outcomes, event) : event.outcome] as const),
    ),
  }
}

/** The steps of counting. Between them the caller locks the accounts of all that it posts. */
export const makeUseCounting = Effect.map(LedgerRepo, (repo) => ({
  /**
   * Validates uses. Returns the places at which the valid ones count, and the meters of their entitlements and of `others`, which
   * cannot be deleted until the transaction ends.
   */
  check: Effect.fnUntraced(function* <Use extends OfflineUse>(
    instance: MeteredInstance,
    uses: ReadonlyArray<Use>,
    others: ReadonlyArray<string> = [],
  ) {
    const { organizationId } = yield* Caller
    const at = yield* now
    const parsed = parseUses(instance, uses, at)
    const slugs = new Set([...slugsOf(parsed.map(([, event]) => event).filter(isValid)), ...others])
    const pairs = Array.from(slugs, (entitlement) => ({ instance: instance.slug, entitlement }))
    const meters = bySlug(pairs.length === 0 ? [] : yield* repo.lockShared(organizationId, pairs, at))
    return { ...checkUses(parsed, meters), meters }
  }),

  /** {@link postUses}, unless the caller may not post them. */
  post: Effect.fnUntraced(function* <Use>(opened: Accounts, checked: ReadonlyArray<CheckedUse<Use>>, heldFor: HeldFor) {
    const caller = yield* Caller
    // A stored line cannot be sent again with another credential, so a license key's whole request is denied.
    if (isForbidden(caller, checked)) return yield* new MissingScope({ detail: LOWERING_TEXT })
    return postUses(opened, checked, caller, heldFor)
  }),
}))
