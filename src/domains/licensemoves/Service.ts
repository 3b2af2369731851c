/** Use cases of license migrations. `Runner.ts` moves the instances. */
import { Context, Effect, Layer, Option } from "effect"
import { Caller } from "../../kernel/contract/Caller.ts"
import { byId, Cursors } from "../../kernel/contract/Page.ts"
import type { Page, PageRequest } from "../../kernel/contract/Page.ts"
import { noSuch } from "../../kernel/contract/Problem.ts"
import type { InvalidCursor, ValidationFailed } from "../../kernel/contract/Problem.ts"
import { Transactions } from "../../kernel/database/Transactions.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import type { LicenseNotFound } from "../licenses/Errors.ts"
import {
  CancelMigrationNotScheduled,
  LicenseMigrationNotFound,
  RevertMigrationNotDone,
  RevertMigrationTooLate,
} from "./Errors.ts"
import type { MigrateLicenseArchived } from "./Errors.ts"
import type { LicenseMigration, LicenseMigrationItem, MigrateLicense } from "./Model.ts"
import { planning } from "./Plan.ts"
import { migrationOf } from "./Records.ts"
import { MigrationsRepo } from "./Repo.ts"
import type { MigrationRow } from "./Repo.ts"
import { isTooLate } from "./Rules.ts"

/** Manages the license migrations of the caller's organization. */
export class LicenseMigrations extends Context.Service<
  LicenseMigrations,
  {
    /**
     * Schedules the move of instances from one license version to another. Background work moves them when it is due.
     */
    readonly request: (
      licenseSlug: string,
      input: MigrateLicense,
    ) => Effect.Effect<LicenseMigration, ValidationFailed | LicenseNotFound | MigrateLicenseArchived, Caller>
    /** A migration with its progress. */
    readonly get: (id: string) => Effect.Effect<LicenseMigration, LicenseMigrationNotFound, Caller>
    /** A page of the migrations of the organization, in the order of their ids. */
    readonly list: (request: PageRequest) => Effect.Effect<Page<LicenseMigration>, InvalidCursor, Caller>
    /** The instances that a migration has processed, each with its result, in their order. */
    readonly items: (
      id: string,
      request: PageRequest,
    ) => Effect.Effect<Page<LicenseMigrationItem>, InvalidCursor | LicenseMigrationNotFound, Caller>
    /** Cancels a migration that has not started. */
    readonly cancel: (
      id: string,
    ) => Effect.Effect<LicenseMigration, LicenseMigrationNotFound | CancelMigrationNotScheduled, Caller>
    /**
     * Moves the instances of a finished migration back, in the background. Those that have another license meanwhile
     * stay.
     */
    readonly revert: (
      id: string,
    ) => Effect.Effect<
      LicenseMigration,
      LicenseMigrationNotFound | RevertMigrationNotDone | RevertMigrationTooLate,
      Caller
    >
  }
>()("keyshelf/licensemoves/LicenseMigrations") {
  static readonly layer = Layer.suspend(() => Layer.effect(LicenseMigrations, make))
}

const required = (found: Option.Option<MigrationRow>, id: string) =>
  Option.isSome(found)
    ? Effect.succeed(found.value)
    : new LicenseMigrationNotFound({ detail: noSuch("license migration", id) })

/** The changes of a migration that exists. */
const changes = Effect.gen(function* () {
  const repo = yield* MigrationsRepo
  const transactions = yield* Transactions

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
    const { actor, credential } = yield* Caller
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
        const reverting: MigrationRow = { ...row, state: "REVERTING", revertedBy: actor, revertedWith: credential }
        return reverting
      }),
    )
  })

  return { cancel, revert }
})

const make = Effect.gen(function* () {
  const repo = yield* MigrationsRepo
  const cursors = yield* Cursors
  const transactions = yield* Transactions
  const plan = yield* planning

  const request = Effect.fn("LicenseMigrations.request")(function* (licenseSlug: string, input: MigrateLicense) {
    return yield* transactions.run(
      Effect.gen(function* () {
        const row = yield* plan(licenseSlug, input)
        yield* repo.insert(row)
        return migrationOf(row)
      }),
    )
  })

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

  return { request, get, list, items, ...(yield* changes) }
})
