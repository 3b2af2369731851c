/** Collects what a snapshot says about its instance. */
import { Effect, Option } from "effect"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { Transactions } from "../../../kernel/database/Transactions.ts"
import { newId } from "../../../kernel/values/Identifiers.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { Evaluations } from "../../flags/ofrep/Service.ts"
import { instanceNotFound } from "../../instances/Errors.ts"
import type { StoredKey } from "../../signing/Model.ts"
import { Signer } from "../../signing/Signer.ts"
import { TermsSnapshots } from "../../usage/snapshots/Service.ts"
import { claimsOf, rulesThatFit } from "../bundles/Rules.ts"
import { SnapshotsRepo } from "./Repo.ts"
import { contentHash, sequenceOf, timesOf } from "./Rules.ts"
import type { SnapshotClaims } from "./Rules.ts"

/**
 * The key that signs, and its announced successor. A database that cannot be written serves snapshots of existing keys, so nothing
 * is locked: a key that is retired meanwhile verifies for as long as any snapshot lives.
 */
const keyChoice = Effect.gen(function* () {
  const signer = yield* Signer
  const transactions = yield* Transactions

  return Effect.fnUntraced(function* (trusted: ReadonlyArray<StoredKey>) {
    const caller = yield* Caller
    const current = trusted.find(({ state }) => state === "CURRENT")
    if (current === undefined) return yield* transactions.run(signer.current(caller, "offline"))
    const next = trusted.find(({ state }) => state === "NEXT")
    return { ...current, next: next === undefined ? null : { kid: next.kid, x: next.x } }
  })
})

/** Reads the content of a snapshot of now, with the key that signs it. */
export const contentReader = Effect.gen(function* () {
  const repo = yield* SnapshotsRepo
  const snapshots = yield* TermsSnapshots
  const evaluations = yield* Evaluations
  const signer = yield* Signer
  const keyAmong = yield* keyChoice

  return Effect.fnUntraced(function* (slug: string, withRules: boolean) {
    const { organizationId } = yield* Caller
    const at = yield* now
    const [terms, found, rules, trusted] = yield* Effect.all(
      [
        snapshots.take(organizationId, slug, at),
        repo.findSubject(organizationId, slug),
        withRules ? evaluations.rules(slug) : Effect.undefined,
        signer.trusted(organizationId, "offline"),
      ],
      { concurrency: "unbounded" },
    )
    if (terms === undefined || Option.isNone(found)) return yield* instanceNotFound(slug)
    const key = yield* keyAmong(trusted)
    const subject = found.value
    const times = timesOf(subject.away, terms.startLicenseDate, at)
    const { complete, entitlements, periods, reasons } = terms.standingsOver({
      from: at,
      until: new Date(times.exp * 1000),
    })
    const claims: SnapshotClaims = {
      ...claimsOf({
        organizationId,
        id: yield* newId,
        sequence: sequenceOf(subject),
        times,
        subject,
        access: terms,
        grants: { entitlements, periods },
        flags: {},
        rules: rulesThatFit(rules),
        binding: null,
        next: key.next,
      }),
      complete,
      away: { then: subject.away.then },
    }
    return { at, key, claims, hash: contentHash(claims, reasons) }
  })
})
