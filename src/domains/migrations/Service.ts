/** Use cases of license migrations. `Runner.ts` moves the instances. */
import { Context, Effect, Layer, Option } from "effect"
import { Caller } from "../../kernel/contract/Caller.ts"
import { byId, Cursors } from "../../kernel/contract/Page.ts"
import type { PageRequest } from "../../kernel/contract/Page.ts"
import { failWithErrors, invalid, noSuch } from "../../kernel/contract/Problem.ts"
import { Transactions } from "../../kernel/database/Transactions.ts"
import { newId } from "../../kernel/values/Identifiers.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import { Customers } from "../customers/Service.ts"
import { LicenseNotFound } from "../licenses/Errors.ts"
import { lastEndBefore } from "../licenses/Model.ts"
import type { License } from "../licenses/Model.ts"
import { Licenses } from "../licenses/Service.ts"
import {
  CancelMigrationNotScheduled,
  LicenseMigrationNotFound,
  MigrateLicenseArchived,
  RevertMigrationNotDone,
  RevertMigrationTooLate,
} from "./Errors.ts"
import type { MigrateLicense } from "./Model.ts"
import { migrationOf } from "./Records.ts"
import { MigrationsRepo } from "./Repo.ts"
import type { MigrationRow } from "./Repo.ts"
import { isTooLate, namingErrors, namingProperty } from "./Rules.ts"
import type { ValidationFailed, InvalidCursor } from "../../kernel/contract/Problem.ts"
import type { LicenseMigration, LicenseMigrationItem } from "./Model.ts"

const MAX_TOTAL = 2_000_000_000

const PASSES_LAST_YEAR =
  "must be a license version whose days of grace end within the year 9999 for each instance that is moved"

/** Manages the license migrations of the caller's organization. */
export class LicenseMigrations extends Context.Service<
  LicenseMigrations,
  {
    /** ??? */
    readonly request: (
      licenseSlug: string,
      input: MigrateLicense,
    ) => Effect.Effect<LicenseMigration, ValidationFailed | LicenseNotFound | MigrateLicenseArchived, Caller>
    /** ??? */
    readonly get: (id: string) => Effect.Effect<LicenseMigration, LicenseMigrationNotFound, Caller>
    /** ??? */
    readonly list: (request: PageRequest) => Effect.Effect<
      {
        readonly items: LicenseMigration[]
        readonly hasMore: boolean
        readonly nextCursor: string
      },
      InvalidCursor,
      Caller
    >
    /** ??? */
    readonly items: (
      id: string,
      request: PageRequest,
    ) => Effect.Effect<
      {
        readonly items: LicenseMigrationItem[]
        readonly hasMore: boolean
        readonly nextCursor: string
      },
      InvalidCursor | LicenseMigrationNotFound,
      Caller
    >
    /** ??? */
    readonly cancel: (
      id: string,
    ) => Effect.Effect<LicenseMigration, LicenseMigrationNotFound | CancelMigrationNotScheduled, Caller>
    /** ??? */
    readonly revert: (
      id: string,
    ) => Effect.Effect<
      LicenseMigration,
      LicenseMigrationNotFound | RevertMigrationNotDone | RevertMigrationTooLate,
      Caller
    >
  }
>()("keyshelf/migrations/LicenseMigrations") {
  static readonly layer = Layer.effect(
    LicenseMigrations,
    Effect.suspend(() => make),
  )
}

const make = Effect.gen(function* () {
  const repo = yield* MigrationsRepo
  const licenses = yield* Licenses
  const customers = yield* Customers
  const cursors = yield* Cursors
  const transactions = yield* Transactions

  const targetOf = Effect.fnUntraced(function* (organizationId: string, fromId: string, input: MigrateLicense) {
    const property = namingProperty(input)
    const slug = input[property] ?? ""
    const isVersion = property === "toLicenseSlug"
    const found = yield* licenses.resolve(
      organizationId,
      isVersion ? { licenseSlug: slug } : { licenseFamilySlug: slug },
    )
    if (Option.isNone(found)) {
      const kind = isVersion ? "license" : "license family with a published version"
      return yield* invalid(`body.${property}`, `must be the slug of an existing ${kind}`, slug)
    }
    if (found.value.id === fromId) return yield* invalid(`body.${property}`, "must be another license version", slug)
    if (found.value.lifecycleState === "ARCHIVED") {
      return yield* new MigrateLicenseArchived({
        detail: `The license version "${found.value.slug}" is archived. Choose another version or unarchive it first.`,
      })
    }
    return found.value
  })

  const customerIdOf = Effect.fnUntraced(function* (organizationId: string, slug: string | undefined) {
    if (slug === undefined) return null
    const customer = yield* customers.lockShared(organizationId, { customerSlug: slug })
    return Option.isSome(customer)
      ? customer.value.id
      : yield* invalid("body.customer", "must be the slug of an existing customer", slug)
  })

  /** Rejects a license version whose days of grace pass the year 9999 for an instance that would be moved. */
  const requireGraceEnds = Effect.fnUntraced(function* (
    row: MigrationRow,
    { from, property, to }: { readonly from: License; readonly to: License; readonly property: string },
  ) {
    if (to.graceDays <= from.graceDays || !(yield* repo.hasLateEnd(row, lastEndBefore(to.graceDays)))) return
    yield* invalid(`body.${property}`, PASSES_LAST_YEAR, to.slug)
  })

  /** The migration that a request asks for, not stored yet. */
  const plan = Effect.fnUntraced(function* (licenseSlug: string, input: MigrateLicense) {
    const { actor, organizationId } = yield* Caller
    yield* failWithErrors(namingErrors(input))
    const from = yield* licenses.resolve(organizationId, { licenseSlug })
    if (Option.isNone(from)) return yield* new LicenseNotFound({ detail: noSuch("license", licenseSlug) })
    const to = yield* targetOf(organizationId, from.value.id, input)
    const customerId = yield* customerIdOf(organizationId, input.customer)
    const at = yield* now
    const row: MigrationRow = {
      organizationId,
      id: yield* newId,
      from: from.value.slug,
      fromLicenseId: from.value.id,
      to: to.slug,
      toLicenseId: to.id,
      customerId,
      instanceSlugs: input.instances === undefined ? null : [...new Set(input.instances)],
      state: "SCHEDULED",
      at: input.at ?? at,
      counts: { total: 0, moved: 0, skipped: 0, failed: 0 },
      processed: 0,
      cursorId: null,
      revertedTo: 0,
      createdAt: at,
      createdBy: actor,
      finishedAt: null,
      revertedBy: null,
    }
    const total = row.instanceSlugs?.length ?? (yield* repo.count(row, MAX_TOTAL))
    yield* requireGraceEnds(row, { from: from.value, to, property: namingProperty(input) })
    return { ...row, counts: { ...row.counts, total } }
  })

  const request = Effect.fn("LicenseMigrations.request")(function* (licenseSlug: string, input: MigrateLicense) {
    return yield* transactions.run(
      Effect.gen(function* () {
        const row = yield* plan(licenseSlug, input)
        yield* repo.insert(row)
        return migrationOf(row)
      }),
    )
  })

  const required = (found: Option.Option<MigrationRow>, id: string) =>
    Option.isSome(found)
      ? Effect.succeed(found.value)
      : new LicenseMigrationNotFound({ detail: noSuch("license migration", id) })

  const find = Effect.fnUntraced(function* (id: string) {
    return yield* required(yield* repo.find((yield* Caller).organizationId, id), id)
  })

  const get = Effect.fn("LicenseMigrations.get")(function* (id: string) {
    return migrationOf(yield* find(id))
  })

  const list = Effect.fn("LicenseMigrations.list")(function* (request: PageRequest) {
    const { organizationId } = yield* Caller
    const page = yield* cursors.page(
      { name: "license-migrations", organizationId },
      request,
      (after, count) => repo.list(organizationId, after, count),
      byId,
    )
    return { ...page, items: page.items.map(migrationOf) }
  })

  const items = Effect.fn("LicenseMigrations.items")(function* (id: string, request: PageRequest) {
    const { organizationId } = yield* find(id)
    const page = yield* cursors.page(
      { name: "license-migration-items", organizationId, filters: { migration: id } },
      request,
      (after, count) => repo.listItems(organizationId, id, after, count),
      ({ position }) => [position],
    )
    return { ...page, items: page.items.map(({ code, instance, state }) => ({ instance, state, code })) }
  })

  /** Changes a migration that no batch is working on. */
  const changing = Effect.fnUntraced(function* <E>(
    id: string,
    decide: (row: MigrationRow, at: Date) => Effect.Effect<MigrationRow, E, Caller>,
  ) {
    const { organizationId } = yield* Caller
    return yield* transactions.run(
      Effect.gen(function* () {
        const row = yield* required(yield* repo.lock(organizationId, id), id)
        const at = yield* now
        const changed = yield* decide(row, at)
        yield* repo.update(changed, at)
        return migrationOf(changed)
      }),
    )
  })

  const cancel = Effect.fn("LicenseMigrations.cancel")(function* (id: string) {
    return yield* changing(id, (row) =>
      row.state === "SCHEDULED"
        ? Effect.succeed<MigrationRow>({ ...row, state: "CANCELLED" })
        : new CancelMigrationNotScheduled({
            detail: `The migration is ${row.state}. Only one that has not started can be cancelled.`,
          }),
    )
  })

  const revert = Effect.fn("LicenseMigrations.revert")(function* (id: string) {
    const { actor } = yield* Caller
    return yield* changing(
      id,
      Effect.fnUntraced(function* (row, at) {
        if (row.state !== "DONE") {
          return yield* new RevertMigrationNotDone({
            detail: `The migration is ${row.state}. Only one that is DONE can be reverted.`,
          })
        }
        if (isTooLate(row, at)) {
          return yield* new RevertMigrationTooLate({
            detail: `The migration finished on ${row.finishedAt?.toISOString() ?? ""}. It can be reverted for 35 days.`,
          })
        }
        const reverting: MigrationRow = { ...row, state: "REVERTING", revertedBy: actor }
        return reverting
      }),
    )
  })

  return { request, get, list, items, cancel, revert }
})
