/** Transitions of a license version between draft, published and archived. */
import { Context, Effect, Layer, Option } from "effect"
import { Events } from "../events/Service.ts"
import { Caller } from "../../kernel/contract/Caller.ts"
import type { ChangeName } from "../../kernel/contract/Event.ts"
import { noSuch } from "../../kernel/contract/Problem.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import { Transactions } from "../../kernel/database/Transactions.ts"
import {
  ArchiveLicenseDefaultMustBePublished,
  ArchiveLicenseNotPublished,
  LicenseNotFound,
  PublishLicenseNotADraft,
  UnarchiveLicenseNotArchived,
} from "./Errors.ts"
import type { License, LifecycleState } from "./Model.ts"
import { LicensesRepo } from "./Repo.ts"
import { archiveRejection } from "./Rules.ts"

const wrongState = (license: License) => ({ detail: `The license "${license.slug}" is ${license.lifecycleState}.` })

const mayPublish = (license: License) =>
  license.lifecycleState === "DRAFT" ? Effect.void : Effect.fail(new PublishLicenseNotADraft(wrongState(license)))

const mayUnarchive = (license: License) =>
  license.lifecycleState === "ARCHIVED"
    ? Effect.void
    : Effect.fail(new UnarchiveLicenseNotArchived(wrongState(license)))

const mayArchive = Effect.fnUntraced(function* (license: License) {
  switch (archiveRejection(license)) {
    case "not-published":
      return yield* new ArchiveLicenseNotPublished(wrongState(license))
    case "default":
      return yield* new ArchiveLicenseDefaultMustBePublished({
        detail: `The license "${license.slug}" is the default of its family. Make another version the default or set \`isDefault\` to false first.`,
      })
    case undefined:
  }
})

/** Publishes, archives and unarchives license versions. */
export class LicenseLifecycle extends Context.Service<
  LicenseLifecycle,
  {
    /** Puts a draft on sale. */
    readonly publish: (slug: string) => Effect.Effect<License, LicenseNotFound | PublishLicenseNotADraft, Caller>
    /** Instances of the version keep it. Its family no longer resolves to it, and no instance can be assigned to it. */
    readonly archive: (
      slug: string,
    ) => Effect.Effect<
      License,
      LicenseNotFound | ArchiveLicenseNotPublished | ArchiveLicenseDefaultMustBePublished,
      Caller
    >
    /** Puts an archived version on sale again. */
    readonly unarchive: (slug: string) => Effect.Effect<License, LicenseNotFound | UnarchiveLicenseNotArchived, Caller>
  }
>()("keyshelf/licenses/LicenseLifecycle") {
  static readonly layer = Layer.suspend(() => Layer.effect(LicenseLifecycle, make))
}

const make = Effect.gen(function* () {
  const repo = yield* LicensesRepo
  const events = yield* Events
  const transactions = yield* Transactions

  const transition = <E>(
    name: string,
    allowed: (license: License) => Effect.Effect<void, E>,
    next: LifecycleState,
    event: ChangeName,
  ) =>
    Effect.fn(name)(function* (slug: string) {
      const caller = yield* Caller
      return yield* transactions.run(
        Effect.gen(function* () {
          // The lock waits for transactions that assign this version to an instance, and blocks new ones.
          const found = yield* repo.lockBySlug(caller.organizationId, slug)
          if (Option.isNone(found)) return yield* new LicenseNotFound({ detail: noSuch("license", slug) })
          yield* allowed(found.value)
          const license: License = {
            ...found.value,
            lifecycleState: next,
            updatedAt: yield* now,
            updatedBy: caller.actor,
          }
          yield* repo.update(caller.organizationId, license)
          yield* events.emitChange(caller, event, found.value, license)
          return license
        }),
      )
    })

  return {
    publish: transition("LicenseLifecycle.publish", mayPublish, "PUBLISHED", "LICENSE_PUBLISHED"),
    archive: transition("LicenseLifecycle.archive", mayArchive, "ARCHIVED", "LICENSE_ARCHIVED"),
    unarchive: transition("LicenseLifecycle.unarchive", mayUnarchive, "PUBLISHED", "LICENSE_UNARCHIVED"),
  }
})
