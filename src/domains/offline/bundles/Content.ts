/** Collects what a new bundle says about its instance. */
import { Effect, Option } from "effect"
import { mapInPieces } from "../../../kernel/concurrency/Pieces.ts"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { failWithErrors } from "../../../kernel/contract/Problem.ts"
import { allows } from "../../../kernel/contract/Scope.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { evaluateRule } from "../../../offline/Flags.ts"
import type { FlagRule } from "../../../offline/Flags.ts"
import { Evaluations } from "../../flags/ofrep/Service.ts"
import type { Grants } from "../../usage/snapshots/Model.ts"
import { TermsSnapshots } from "../../usage/snapshots/Service.ts"
import { IssueOfflineBundleLicenseEnded } from "../Errors.ts"
import type { IssueOfflineBundle } from "./Model.ts"
import { BundlesRepo } from "./Repo.ts"
import { atSecond, laterOf, RULES_SCOPE, rulesThatFit, timesErrors, timesOf } from "./Rules.ts"
import type { BundleContent } from "./Rules.ts"

/** The content of a bundle, without the properties that its issuance adds. */
export type CollectedContent = Omit<BundleContent, "id" | "sequence" | "next" | "grants"> & { readonly grants: Grants }

/** The values of flags that have one. A flag without a value keeps the default of the code. */
const valuesOf = (evaluations: ReadonlyArray<{ readonly key: string; readonly value?: unknown }>) =>
  Object.fromEntries(evaluations.flatMap(({ key, value }) => (value === undefined ? [] : [[key, value] as const])))

const dependsOnCaller = ({ targetings }: FlagRule): boolean => targetings.length > 0

/**
 * Reads the grants, flags and subject of an instance whose row is locked. Fails if its license grants no access any
 * more.
 */
export const contentReader = Effect.gen(function* () {
  const repo = yield* BundlesRepo
  const snapshots = yield* TermsSnapshots
  const evaluations = yield* Evaluations

  return Effect.fnUntraced(function* (slug: string, instanceId: string, input: IssueOfflineBundle) {
    const { organizationId, scopes } = yield* Caller
    const at = yield* now
    const terms = yield* snapshots.take(organizationId, slug, at)
    const subject = yield* repo.findSubject(organizationId, instanceId)
    // The row of the instance is locked.
    if (terms === undefined || Option.isNone(subject)) return yield* Effect.die(new Error(`${slug} is gone`))
    const times = timesOf(input, terms, at)
    if (times.exp <= times.iat) {
      return yield* new IssueOfflineBundleLicenseEnded({
        detail: `The access of "${slug}" ended at ${terms.accessEnd?.toISOString()}. Set a later end of its license first.`,
      })
    }
    yield* failWithErrors(timesErrors(times))
    const rules = yield* evaluations.rules(slug)
    const context = { ...input.context, targetingKey: slug }
    const flags = yield* mapInPieces(rules, (rule) => evaluateRule(rule, context))
    const content: CollectedContent = {
      organizationId,
      times,
      access: terms,
      subject: subject.value,
      // `iat` is the second that has begun: what has changed in it counts.
      grants: terms.grantsOver({ from: laterOf(at, atSecond(times.nbf)), until: atSecond(times.exp) }),
      flags: valuesOf(flags),
      // `flags` says all about the others.
      rules: allows(scopes, RULES_SCOPE) ? rulesThatFit(rules.filter(dependsOnCaller)) : undefined,
      binding: input.binding ?? null,
    }
    return content
  })
})
