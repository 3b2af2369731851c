/** Issues the offline bundles of instances. */
import { Effect } from "effect"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { failWithErrors } from "../../../kernel/contract/Problem.ts"
import { Transactions } from "../../../kernel/database/Transactions.ts"
import { newId } from "../../../kernel/values/Identifiers.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { Events } from "../../events/Service.ts"
import { Instances } from "../../instances/Service.ts"
import { Signer } from "../../signing/Signer.ts"
import type { RequestedAllowance } from "../../usage/allowances/Model.ts"
import { Allowances } from "../../usage/allowances/Service.ts"
import { IssueOfflineBundleLimitReached } from "../Errors.ts"
import { RevocationLists } from "../revocations/Service.ts"
import { tokenSigning } from "../TokenSigning.ts"
import { contentReader } from "./Content.ts"
import type { CollectedContent } from "./Content.ts"
import type { IssueOfflineBundle } from "./Model.ts"
import { recordOf, recordReader } from "./Records.ts"
import { BundlesRepo } from "./Repo.ts"
import type { BundleRow } from "./Repo.ts"
import { atSecond, bindingErrors, claimsOf, laterOf, withAllowances } from "./Rules.ts"

/** Whose bundle is issued, and under which number. */
interface IssuedFor {
  readonly instanceSlug: string
  readonly instanceId: string
  readonly id: string
  readonly sequence: number
}

/** Reserves what a bundle allows its site. Fails if it does not fit. */
const reservation = Effect.map(Allowances, (allowances) =>
  Effect.fnUntraced(function* (
    { grants, organizationId, times }: CollectedContent,
    { id: bundleId, instanceId, instanceSlug, sequence }: IssuedFor,
    requested: ReadonlyArray<RequestedAllowance>,
  ) {
    if (requested.length === 0) return
    const validUntil = atSecond(times.exp)
    const rejection = yield* allowances.hold(
      {
        organizationId,
        instanceId,
        bundleId,
        sequence,
        validFrom: atSecond(times.iat),
        validUntil,
        openUntil: atSecond(times.usageUntil),
      },
      {
        instance: instanceSlug,
        requested,
        entitlements: grants.entitlements,
        life: { from: laterOf(yield* now, atSecond(times.nbf)), until: validUntil },
      },
    )
    if (rejection !== undefined) return yield* new IssueOfflineBundleLimitReached({ detail: rejection })
  }),
)

/**
 * Signs the claims of a bundle with the current key of the caller's organization. Returns the key's id and the bundle.
 */
const signature = Effect.gen(function* () {
  const signer = yield* Signer
  const signToken = yield* tokenSigning

  return Effect.fnUntraced(function* (
    content: CollectedContent,
    { id, sequence }: IssuedFor,
    requested: ReadonlyArray<RequestedAllowance>,
  ) {
    const key = yield* signer.current(yield* Caller, "offline")
    const entitlements = withAllowances(content.grants.entitlements, requested)
    const claims = claimsOf({ ...content, grants: { ...content.grants, entitlements }, id, sequence, next: key.next })
    return { keyId: key.kid, bundle: yield* signToken(key, { claims, location: "body", noun: "bundle" }) }
  })
})

export const issuance = Effect.gen(function* () {
  const repo = yield* BundlesRepo
  const instances = yield* Instances
  const lists = yield* RevocationLists
  const events = yield* Events
  const transactions = yield* Transactions
  const readContent = yield* contentReader
  const readRecord = yield* recordReader
  const reserve = yield* reservation
  const sign = yield* signature

  return Effect.fn("OfflineBundles.issue")(function* (instanceSlug: string, input: IssueOfflineBundle) {
    const caller = yield* Caller
    yield* failWithErrors(bindingErrors(input.binding))
    const requested = input.allowances ?? []
    const id = yield* newId
    return yield* transactions.run(
      Effect.gen(function* () {
        const { id: instanceId, sequence } = yield* instances.nextOfflineSequence(instanceSlug)
        const issued: IssuedFor = { instanceSlug, instanceId, id, sequence }
        const content = yield* readContent(instanceSlug, instanceId, input)
        yield* reserve(content, issued, requested)
        const { bundle, keyId } = yield* sign(content, issued, requested)
        const row: BundleRow = {
          id,
          instanceId,
          sequence,
          keyId,
          issuedAt: atSecond(content.times.iat),
          renewAt: atSecond(content.times.renew),
          expiresAt: atSecond(content.times.exp),
          usageUntil: atSecond(content.times.usageUntil),
          binding: content.binding,
          revokedAt: null,
          revokedBy: null,
          createdAt: yield* now,
          createdBy: caller.actor,
        }
        yield* repo.insert(caller.organizationId, { ...row, bundle })
        yield* lists.begin(caller.organizationId)
        const record = requested.length === 0 ? recordOf(row, instanceSlug) : yield* readRecord(row, instanceSlug)
        yield* events.emit(caller, "OFFLINE_BUNDLE_ISSUED", { ...record, instanceId })
        return { ...record, bundle }
      }),
    )
  })
})
