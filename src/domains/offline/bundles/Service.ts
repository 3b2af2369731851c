/** Use cases of offline bundles. */
import { Context, Effect, Layer, Option } from "effect"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { Cursors } from "../../../kernel/contract/Page.ts"
import type { Page, PageRequest } from "../../../kernel/contract/Page.ts"
import { failWithErrors, invalid, noSuch } from "../../../kernel/contract/Problem.ts"
import type { InvalidCursor, ValidationFailed } from "../../../kernel/contract/Problem.ts"
import { Transactions } from "../../../kernel/database/Transactions.ts"
import { newId } from "../../../kernel/values/Identifiers.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { Events } from "../../events/Service.ts"
import { Evaluations } from "../../flags/ofrep/Service.ts"
import { InstanceDeletions } from "../../instances/Deletions.ts"
import type { InstanceNotFound } from "../../instances/Errors.ts"
import { Instances } from "../../instances/Service.ts"
import { Signer } from "../../signing/Signer.ts"
import type { RequestedAllowance } from "../../usage/allowances/Model.ts"
import { Allowances } from "../../usage/allowances/Service.ts"
import { TermsSnapshots } from "../../usage/snapshots/Service.ts"
import { IssueOfflineBundleLicenseEnded, IssueOfflineBundleLimitReached, OfflineBundleNotFound } from "../Errors.ts"
import { RevocationLists } from "../revocations/Service.ts"
import { BUNDLE_TYPE } from "./Model.ts"
import type { IssuedOfflineBundle, IssueOfflineBundle, OfflineBundle } from "./Model.ts"
import { BundlesRepo } from "./Repo.ts"
import type { BundleRow } from "./Repo.ts"
import { bindingErrors, claimsText, MAX_BUNDLE_CHARACTERS, timesErrors, timesOf, withAllowances } from "./Rules.ts"

const notFound = (id: string) => new OfflineBundleNotFound({ detail: noSuch("offline bundle", id) })

const atSecond = (seconds: number): Date => new Date(seconds * 1000)

const laterOf = (one: Date, other: Date): Date => (one > other ? one : other)

const recordOf = (
  { instanceId: _, ...row }: BundleRow,
  instance: string,
  allowances: OfflineBundle["allowances"] = [],
): OfflineBundle => ({ ...row, instance, allowances })

/** The values of flags that have one. A flag without a value keeps the default of the code. */
const valuesOf = (evaluations: ReadonlyArray<{ readonly key: string; readonly value?: unknown }>) =>
  Object.fromEntries(evaluations.flatMap(({ key, value }) => (value === undefined ? [] : [[key, value] as const])))

/** Issues, reads and revokes the offline bundles of instances. */
export class OfflineBundles extends Context.Service<
  OfflineBundles,
  {
    /** Issues the next bundle of an instance, and signs it with the organization's key. */
    readonly issue: (
      instanceSlug: string,
      input: IssueOfflineBundle,
    ) => Effect.Effect<
      IssuedOfflineBundle,
      InstanceNotFound | IssueOfflineBundleLicenseEnded | IssueOfflineBundleLimitReached | ValidationFailed,
      Caller
    >
    /** Newest first. */
    readonly list: (
      instanceSlug: string,
      request: PageRequest,
    ) => Effect.Effect<Page<OfflineBundle>, InstanceNotFound | InvalidCursor, Caller>
    readonly get: (
      instanceSlug: string,
      id: string,
    ) => Effect.Effect<IssuedOfflineBundle, InstanceNotFound | OfflineBundleNotFound, Caller>
    /**
     * Voids a bundle and all before it. With `release`, its allowances end too. A revoked bundle can still be released; without
     * that, revoking it again has no effect.
     */
    readonly revoke: (
      instanceSlug: string,
      id: string,
      options?: { readonly release?: boolean },
    ) => Effect.Effect<void, InstanceNotFound | OfflineBundleNotFound, Caller>
  }
>()("keyshelf/offline/bundles/OfflineBundles") {
  static readonly layer = Layer.effect(
    OfflineBundles,
    Effect.gen(function* () {
      const repo = yield* BundlesRepo
      const instances = yield* Instances
      const snapshots = yield* TermsSnapshots
      const evaluations = yield* Evaluations
      const signer = yield* Signer
      const allowances = yield* Allowances
      const lists = yield* RevocationLists
      const events = yield* Events
      const cursors = yield* Cursors
      const transactions = yield* Transactions

      /** The record of a bundle, with its allowances. */
      const readRecord = Effect.fnUntraced(function* (row: BundleRow, instance: string) {
        const { organizationId } = yield* Caller
        const byBundle = yield* allowances.ofBundles(organizationId, row.instanceId, [row.id])
        return recordOf(row, instance, byBundle.get(row.id))
      })

      const emitRevoked = Effect.fnUntraced(function* (row: BundleRow, instance: string) {
        yield* events.emit(yield* Caller, "OFFLINE_BUNDLE_REVOKED", yield* readRecord(row, instance))
      })

      /** Voids a bundle and all before it. Returns its row afterwards. */
      const voidUpTo = Effect.fnUntraced(function* (row: BundleRow) {
        const caller = yield* Caller
        const revokedAt = yield* now
        const until = yield* repo.lastExpiry(caller.organizationId, row)
        yield* repo.revokeUpTo(caller.organizationId, row, { at: revokedAt, by: caller.actor })
        yield* lists.add(caller.organizationId, { ...row, revokedAt, until })
        return { ...row, revokedAt, revokedBy: caller.actor }
      })

      yield* (yield* InstanceDeletions).register(
        Effect.fnUntraced(function* ({ id, slug }) {
          const { organizationId } = yield* Caller
          const newest = yield* repo.findNewest(organizationId, id)
          if (Option.isNone(newest) || newest.value.revokedAt !== null) return
          // One before may live longer, and a site may not have seen the newest.
          const until = yield* repo.lastExpiry(organizationId, newest.value)
          if (until > (yield* now)) yield* emitRevoked(yield* voidUpTo(newest.value), slug)
        }),
      )

      const content = Effect.fnUntraced(function* (slug: string, instanceId: string, input: IssueOfflineBundle) {
        const { organizationId } = yield* Caller
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
        const flags = yield* evaluations.flags(input.context ?? {}, slug)
        return {
          organizationId,
          times,
          access: terms,
          subject: subject.value,
          // `iat` is the second that has begun: what has changed in it counts.
          grants: terms.grantsOver({ from: laterOf(at, atSecond(times.nbf)), until: atSecond(times.exp) }),
          flags: valuesOf(flags),
          binding: input.binding ?? null,
        }
      })

      /** Reserves what a bundle allows its site, if it fits. */
      const reserve = Effect.fnUntraced(function* (
        { grants, organizationId, times }: Effect.Success<ReturnType<typeof content>>,
        bundle: {
          readonly instanceSlug: string
          readonly instanceId: string
          readonly id: string
          readonly sequence: number
        },
        requested: ReadonlyArray<RequestedAllowance>,
      ) {
        if (requested.length === 0) return
        const { id: bundleId, instanceId, instanceSlug, sequence } = bundle
        const [validFrom, validUntil, openUntil] = [times.iat, times.exp, times.usageUntil].map(atSecond) as [
          Date,
          Date,
          Date,
        ]
        const rejection = yield* allowances.hold(
          { organizationId, instanceId, bundleId, sequence, validFrom, validUntil, openUntil },
          {
            instance: instanceSlug,
            requested,
            entitlements: grants.entitlements,
            life: { from: laterOf(yield* now, atSecond(times.nbf)), until: validUntil },
          },
        )
        if (rejection !== undefined) return yield* new IssueOfflineBundleLimitReached({ detail: rejection })
      })

      const issue = Effect.fn("OfflineBundles.issue")(function* (instanceSlug: string, input: IssueOfflineBundle) {
        const caller = yield* Caller
        yield* failWithErrors(bindingErrors(input.binding))
        const requested = input.allowances ?? []
        const id = yield* newId
        return yield* transactions.run(
          Effect.gen(function* () {
            const { id: instanceId, sequence } = yield* instances.nextOfflineSequence(instanceSlug)
            const said = yield* content(instanceSlug, instanceId, input)
            yield* reserve(said, { instanceSlug, instanceId, id, sequence }, requested)
            const key = yield* signer.current(caller, "offline")
            const bundle = yield* signer.signToken(
              key,
              BUNDLE_TYPE,
              claimsText({
                ...said,
                grants: {
                  ...said.grants,
                  entitlements: withAllowances(said.grants.entitlements, requested),
                },
                id,
                sequence,
                next: key.next,
              }),
            )
            if (bundle.length > MAX_BUNDLE_CHARACTERS) {
              return yield* invalid(
                "body",
                `makes a bundle of ${bundle.length} characters, at most ${MAX_BUNDLE_CHARACTERS} are allowed: the configurations and flags of the instance are too large`,
              )
            }
            const row: BundleRow = {
              id,
              instanceId,
              sequence,
              keyId: key.kid,
              issuedAt: atSecond(said.times.iat),
              renewAt: atSecond(said.times.renew),
              expiresAt: atSecond(said.times.exp),
              usageUntil: atSecond(said.times.usageUntil),
              binding: said.binding,
              revokedAt: null,
              revokedBy: null,
              createdAt: yield* now,
              createdBy: caller.actor,
            }
            yield* repo.insert(caller.organizationId, { ...row, bundle })
            yield* lists.begin(caller.organizationId)
            const record = requested.length === 0 ? recordOf(row, instanceSlug) : yield* readRecord(row, instanceSlug)
            yield* events.emit(caller, "OFFLINE_BUNDLE_ISSUED", record)
            return { ...record, bundle }
          }),
        )
      })

      const find = Effect.fnUntraced(function* (instanceId: string, id: string) {
        const found = yield* repo.find((yield* Caller).organizationId, instanceId, id)
        return Option.isSome(found) ? found.value : yield* notFound(id)
      })

      return OfflineBundles.of({
        issue,
        list: Effect.fn("OfflineBundles.list")(function* (instanceSlug, request) {
          const { organizationId } = yield* Caller
          const { id } = yield* instances.get(instanceSlug)
          const page = yield* cursors.page(
            { name: `instances/${id}/offline-bundles`, organizationId },
            request,
            (after, count) => repo.list(organizationId, id, after, count),
            ({ sequence }) => [sequence],
          )
          const ids = page.items.map((row) => row.id)
          const byBundle = yield* allowances.ofBundles(organizationId, id, ids)
          return { ...page, items: page.items.map((row) => recordOf(row, instanceSlug, byBundle.get(row.id))) }
        }),
        get: Effect.fn("OfflineBundles.get")(function* (instanceSlug, id) {
          const instance = yield* instances.get(instanceSlug)
          const { bundle, ...row } = yield* find(instance.id, id)
          return { ...(yield* readRecord(row, instanceSlug)), bundle }
        }),
        revoke: Effect.fn("OfflineBundles.revoke")(function* (instanceSlug, id, { release = false } = {}) {
          yield* transactions.run(
            Effect.gen(function* () {
              const { organizationId } = yield* Caller
              const instance = yield* instances.lock(instanceSlug)
              const { bundle: _, ...row } = yield* find(instance.id, id)
              const released = release && (yield* allowances.endOf(organizationId, instance.id, id, yield* now))
              if (row.revokedAt === null) yield* emitRevoked(yield* voidUpTo(row), instanceSlug)
              else if (released) yield* emitRevoked(row, instanceSlug)
            }),
          )
        }),
      })
    }),
  )
}
