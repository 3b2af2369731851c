/**
 * Runs license migrations in batches. A batch is one transaction: it locks the migration, moves up to {@link BATCH} instances with
 * their events, and stores its progress. So a killed process leaves whole batches, any node continues after them, and no two
 * nodes work on the same migration.
 */
import { Context, Effect, Layer, Option } from "effect"
import { transactionsByIndex } from "../../kernel/database/RowsByKey.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import { Events } from "../events/Service.ts"
import type { EventSource } from "../events/Service.ts"
import { AddOnMoves } from "../instances/addons/Moves.ts"
import { LicenseMoves } from "../instances/LicenseMoves.ts"
import { isAddOn } from "../licenses/Model.ts"
import type { License } from "../licenses/Model.ts"
import { Licenses } from "../licenses/Service.ts"
import { migrationOf } from "./Records.ts"
import { MigrationsRepo } from "./Repo.ts"
import type { ItemRow, MigratedInstance, MigrationRow } from "./Repo.ts"

/**
 * The maximum number of instances per transaction. A change of one of them waits for its end, and each takes about a millisecond.
 */
const BATCH = 100

/** An instance of a batch; without `instance`, no such instance exists. */
interface Candidate {
  readonly slug: string
  readonly instance: MigratedInstance | undefined
  /** Why it is not concerned; `undefined` if it is. */
  readonly skipped: string | undefined
}

const candidateOf = (row: MigrationRow, slug: string, instance: MigratedInstance | undefined): Candidate => {
  const whySkipped = () => {
    if (instance === undefined) return "Instance.NotFound"
    if (instance.licenseId !== row.fromLicenseId) return "LicenseMigration.OtherLicense"
    return row.customerId !== null && instance.customerId !== row.customerId
      ? "LicenseMigration.OtherCustomer"
      : undefined
  }
  return { slug, instance, skipped: whySkipped() }
}

/** Runs the license migrations of all organizations. */
export class MigrationRunner extends Context.Service<
  MigrationRunner,
  {
    /** Runs one batch of some migration. Returns whether there was one. */
    readonly step: Effect.Effect<boolean>
  }
>()("keyshelf/licensemoves/MigrationRunner") {
  static readonly layer = Layer.suspend(() => Layer.effect(MigrationRunner, make))
}

/** Who moves: who requested the migration, or its revert. */
const sourceOf = ({ createdBy, createdWith, organizationId, revertedBy, revertedWith }: MigrationRow) =>
  revertedBy === null
    ? { organizationId, actor: createdBy, credential: createdWith }
    : { organizationId, actor: revertedBy, credential: revertedWith }

/** Why no instance can get the license version; `undefined` if it can. */
const whyFailed = (license: Option.Option<License>) => {
  if (Option.isNone(license)) return "License.NotFound"
  return license.value.lifecycleState === "ARCHIVED" ? "MigrateLicense.LicenseArchived" : undefined
}

/** Moves instances to a version: their license, or what they have of an add-on. */
const moving = Effect.gen(function* () {
  const moves = yield* LicenseMoves
  const addOns = yield* AddOnMoves
  return (source: EventSource, ids: ReadonlyArray<string>, from: string, to: License) =>
    isAddOn(to) ? addOns.move(source, ids, { from, to }) : moves.move(source, ids, { from, to: to.id })
})

/** Moves the next batch of a migration. */
const movingBatches = Effect.gen(function* () {
  const repo = yield* MigrationsRepo
  const licenses = yield* Licenses
  const move = yield* moving
  const events = yield* Events

  /** The next instances, and whether there may be more after them. */
  const nextBatch = Effect.fnUntraced(function* (row: MigrationRow, addOnsAt: Date | null) {
    if (row.instanceSlugs === null) {
      const found = yield* repo.next(row, BATCH, addOnsAt)
      const candidates = found.map((instance) => candidateOf(row, instance.slug, instance))
      return { candidates, cursorId: found.at(-1)?.id ?? row.cursorId, isLast: found.length < BATCH }
    }
    const slugs = row.instanceSlugs.slice(row.processed, row.processed + BATCH)
    const named = yield* repo.named(row, slugs, addOnsAt)
    const found = new Map(named.map((instance) => [instance.slug, instance]))
    return {
      candidates: slugs.map((slug) => candidateOf(row, slug, found.get(slug))),
      cursorId: null,
      isLast: row.processed + slugs.length >= row.instanceSlugs.length,
    }
  })

  return Effect.fnUntraced(function* (row: MigrationRow) {
    // It cannot be archived before the transaction ends.
    const license = yield* licenses.lock(row.organizationId, row.toLicenseId)
    const addOnsAt = Option.isSome(license) && isAddOn(license.value) ? yield* now : null
    const { candidates, cursorId, isLast } = yield* nextBatch(row, addOnsAt)
    const failure = whyFailed(license)
    const concerned = candidates.flatMap(({ instance, skipped }) =>
      instance === undefined || skipped !== undefined ? [] : [instance.id],
    )
    const moved =
      failure === undefined && Option.isSome(license)
        ? yield* move(sourceOf(row), concerned, row.fromLicenseId, license.value)
        : new Set<string>()
    const items = candidates.map(({ instance, skipped, slug }, index): ItemRow => {
      const id = instance?.id ?? null
      const item = { position: row.processed + index + 1, instanceId: id, instance: slug }
      if (skipped !== undefined) return { ...item, state: "SKIPPED", code: skipped }
      if (id !== null && moved.has(id)) return { ...item, state: "MOVED", code: null }
      // Without a failure, it got another license since it was looked up.
      return failure === undefined
        ? { ...item, state: "SKIPPED", code: "LicenseMigration.OtherLicense" }
        : { ...item, state: "FAILED", code: failure }
    })
    yield* repo.insertItems(row, items)
    const number = (state: ItemRow["state"]) => items.filter((item) => item.state === state).length
    const processed = row.processed + items.length
    const at = yield* now
    const next: MigrationRow = {
      ...row,
      processed,
      cursorId,
      state: isLast ? "DONE" : "RUNNING",
      finishedAt: isLast ? at : null,
      counts: {
        total: isLast ? processed : row.counts.total,
        moved: row.counts.moved + number("MOVED"),
        skipped: row.counts.skipped + number("SKIPPED"),
        failed: row.counts.failed + number("FAILED"),
      },
    }
    yield* repo.update(next, at)
    if (isLast) yield* events.emit(sourceOf(row), "LICENSE_MIGRATION_FINISHED", migrationOf(next))
  })
})

/** Moves the next batch of a migration back. */
const revertingBatches = Effect.gen(function* () {
  const repo = yield* MigrationsRepo
  const licenses = yield* Licenses
  const move = yield* moving
  const events = yield* Events

  return Effect.fnUntraced(function* (row: MigrationRow) {
    const items = yield* repo.movedAfter(row, BATCH)
    const original = yield* licenses.lock(row.organizationId, row.fromLicenseId)
    const ids = items.map(({ instanceId }) => instanceId)
    const reverted = Option.isSome(original)
      ? yield* move(sourceOf(row), ids, row.toLicenseId, original.value)
      : new Set<string>()
    const code = Option.isSome(original) ? "LicenseMigration.OtherLicense" : "License.NotFound"
    yield* repo.updateItems(
      row,
      items.map(({ instanceId, position }) =>
        reverted.has(instanceId) ? { position, state: "REVERTED", code: null } : { position, state: "KEPT", code },
      ),
    )
    const isLast = items.length < BATCH
    const next: MigrationRow = {
      ...row,
      revertedTo: items.at(-1)?.position ?? row.revertedTo,
      state: isLast ? "REVERTED" : "REVERTING",
    }
    yield* repo.update(next, yield* now)
    if (isLast) yield* events.emit(sourceOf(row), "LICENSE_MIGRATION_REVERTED", migrationOf(next))
  })
})

const make = Effect.gen(function* () {
  const repo = yield* MigrationsRepo
  const events = yield* Events
  const runByIndex = yield* transactionsByIndex
  const moveBatch = yield* movingBatches
  const revertBatch = yield* revertingBatches

  const advance = Effect.fnUntraced(function* (row: MigrationRow) {
    if (row.state === "REVERTING") return yield* revertBatch(row)
    if (row.state === "SCHEDULED") {
      yield* events.emit(sourceOf(row), "LICENSE_MIGRATION_STARTED", migrationOf({ ...row, state: "RUNNING" }))
    }
    yield* moveBatch(row)
  })

  const step = Effect.suspend(() => {
    let claimed: MigrationRow | undefined
    return runByIndex(
      Effect.gen(function* () {
        const found = yield* repo.claim(yield* now)
        if (Option.isNone(found)) return false
        claimed = found.value
        yield* advance(found.value)
        return true
      }),
    ).pipe(
      // A migration whose batch fails does not keep the others waiting.
      Effect.tapCause(() => {
        const row = claimed
        return row === undefined
          ? Effect.void
          : Effect.flatMap(now, (at) => repo.postpone(row.organizationId, row.id, at))
      }),
    )
  }).pipe(Effect.withSpan("MigrationRunner.step"))

  return { step }
})
