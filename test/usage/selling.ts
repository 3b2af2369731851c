/** Files of what is sold (`test/fixtures/selling.json`), and how the rules of the service are compared with them. */
import { BigDecimal, Schema } from "effect"
import { isDeepStrictEqual } from "node:util"
import { grantOf } from "../../src/domains/usage/rules/Grant.ts"
import type { GrantedTerms } from "../../src/domains/usage/rules/Grant.ts"
import { ResetAnchor, ResetPeriod } from "../../src/domains/entitlements/Model.ts"
import { Combine } from "../../src/domains/licenses/Model.ts"
import { SellingLedger } from "./SellingLedger.ts"

const { Array: List, Boolean: Switch, Finite, Literals, NullOr, String: Text, Struct, Union, optionalKey } = Schema

const Value = Union([Text, Switch])

/** The sources of a grant, and the grant that they give. */
const GrantCase = Struct({
  license: NullOr(Struct({ value: Value, overagePercent: optionalKey(Finite) })),
  addOns: optionalKey(
    List(Struct({ combine: Combine, value: Value, quantity: Finite, overagePercent: optionalKey(Finite) })),
  ),
  override: optionalKey(Struct({ mode: Literals(["SET", "ADD"]), value: Value, overagePercent: optionalKey(Finite) })),
})

const File = Struct({
  cases: List(Schema.StructWithRest(Struct({ id: Text, kind: Text }), [Schema.Record(Text, Schema.Unknown)])),
})

/** The result of a case: compared, or why it was not. */
type SellingResult =
  | { readonly id: string; readonly actual: unknown; readonly expected: unknown; readonly matches: boolean }
  | { readonly id: string; readonly skipped: string }

const decodeFile = Schema.decodeUnknownSync(File)
const decodeGrant = Schema.decodeUnknownSync(GrantCase)

/** An instant at which everything of a case is in force. */
const AT = new Date("2026-03-01T00:00:00Z")
const always = {
  startsAt: AT.toISOString(),
  endsAt: null,
  reason: null,
  by: { id: "", name: "" },
  at: AT.toISOString(),
}

const termsOf = ({ addOns = [], license, override }: typeof GrantCase.Type): GrantedTerms => ({
  granted: license === null ? null : String(license.value),
  overagePercent: license?.overagePercent ?? null,
  addOns: addOns.map(({ overagePercent = null, ...addOn }, index) => ({
    ...always,
    id: String(index),
    license: "extra",
    licenseId: "extra",
    ...addOn,
    overagePercent,
  })),
  override: override === undefined ? null : { ...always, overagePercent: null, ...override },
})

const shown = (value: unknown): unknown => (BigDecimal.isBigDecimal(value) ? BigDecimal.format(value) : value)

/** The grant of a case, as the file writes it. */
const granted = (given: unknown): unknown => {
  const grant = grantOf(termsOf(decodeGrant(given)), AT)
  return grant && { value: shown(grant.value), overagePercent: grant.overagePercent }
}

const Moment = Schema.Date
const Terms = NullOr(Struct({ value: Text, overagePercent: Finite }))

/** A step of a history. Its properties depend on what it does. */
const Step = Struct({
  do: Literals(["credit", "use", "voidUse", "voidCredit", "check", "reserve", "commit", "release", "grant"]),
  now: Moment,
  id: optionalKey(Text),
  amount: optionalKey(Text),
  priority: optionalKey(Finite),
  startsAt: optionalKey(Moment),
  expiresAt: optionalKey(Moment),
  value: optionalKey(Text),
  timestamp: optionalKey(Moment),
  requested: optionalKey(Text),
  at: optionalKey(Moment),
  quantity: optionalKey(Text),
  seconds: optionalKey(Finite),
  grant: optionalKey(Terms),
  expect: Schema.Unknown,
})
type Step = typeof Step.Type

const BurnCase = Struct({
  entitlement: Struct({
    aggregationMethod: Literals(["SUM", "COUNT"]),
    resetPeriod: NullOr(ResetPeriod),
    resetAnchor: ResetAnchor,
  }),
  licenseStart: Moment,
  grant: Terms,
  steps: List(Step),
})
const decodeBurn = Schema.decodeUnknownSync(Schema.toCodecJson(BurnCase))

const play = (ledger: SellingLedger, step: Step): unknown => {
  const { id = "", now } = step
  switch (step.do) {
    case "credit": {
      const { amount = "0", expiresAt = null, priority = 50, startsAt = now } = step
      return ledger.addCredit({ id, amount, priority, startsAt, expiresAt, createdAt: now })
    }
    case "use":
      return ledger.use(id, step.value ?? "0", step.timestamp ?? now, now)
    case "voidUse":
      return ledger.voidUse(id)
    case "voidCredit":
      return ledger.voidCredit(id, now)
    case "check":
      return ledger.check(step.requested ?? "1", step.at ?? now, now)
    case "reserve":
      return ledger.reserve(id, step.quantity ?? "0", step.seconds ?? 0, now)
    case "commit":
      return ledger.commit(id, step.quantity, now)
    case "release":
      return ledger.release(id, now)
    case "grant":
      return ledger.setGrant(step.grant ?? null, now)
  }
}

/** The result of each step, and the credits at the end. */
const burned = (given: unknown) => {
  const { entitlement, grant, licenseStart, steps } = decodeBurn(given)
  const ledger = new SellingLedger({ ...entitlement, licenseStart }, grant)
  const results = steps.map((step) => play(ledger, step))
  return { steps: results, end: ledger.creditsAt(steps.at(-1)?.now ?? licenseStart) }
}

/** What the file expects of a history, in the form of its result. */
const expectedOf = (kind: string, given: Readonly<Record<string, unknown>>): unknown =>
  kind === "burn" ? { steps: decodeBurn(given).steps.map(({ expect }) => expect), end: given["end"] } : given["expect"]

const rules: Readonly<Record<string, (given: unknown) => unknown>> = { grant: granted, burn: burned }

/** Why a case is not compared, although there is a rule of its kind. */
const whySkipped = (given: Readonly<Record<string, unknown>>): string | undefined => {
  if ("pool" in given) return "there are no pools yet"
  return JSON.stringify(given).includes('"rolloverMax"') ? "there is no rollover yet" : undefined
}

/** Why cases of a kind are not compared. */
const skipped: Readonly<Record<string, string>> = {
  marks: "there is one warning threshold of an entitlement yet",
  schedule: "there is no next license yet",
  period: "periods are those of test/fixtures/periods.json yet",
}

/** The results of all cases of a file. */
export const runSelling = (file: unknown): ReadonlyArray<SellingResult> =>
  decodeFile(file).cases.map(({ id, kind, ...given }) => {
    const rule = rules[kind]
    if (rule === undefined) return { id, skipped: skipped[kind] ?? `nothing plays the kind ${kind}` }
    const reason = whySkipped(given)
    if (reason !== undefined) return { id, skipped: reason }
    const actual = rule(given)
    const expected = expectedOf(kind, given)
    return { id, actual, expected, matches: isDeepStrictEqual(actual, expected) }
  })
