/** The states of a license version: draft, published, archived (interface specification, section 3). */
import { Context, Effect, Layer, Option } from "effect"
import { Events } from "../events/Service.ts"
import { Caller } from "../../kernel/contract/Caller.ts"
import type { EventName } from "../../kernel/contract/Event.ts"
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
import { archiveRefusal } from "./Rules.ts"

const stateOf = (license: License) => ({ detail: `The license "${license.slug}" is ${license.lifecycleState}.` })

const mayPublish = (license: License) =>
  license.lifecycleState === "DRAFT" ? Effect.void : Effect.fail(new PublishLicenseNotADraft(stateOf(license)))

const mayUnarchive = (license: License) =>
  license.lifecycleState === "ARCHIVED" ? Effect.void : Effect.fail(new UnarchiveLicenseNotArchived(stateOf(license)))

const mayArchive = Effect.fnUntraced(function* (license: License) {
  switch (archiveRefusal(license)) {
    case "not-published":
      return yield* new ArchiveLicenseNotPublished(stateOf(license))
    case "default":
      return yield* new ArchiveLicenseDefaultMustBePublished({
        detail: `The license "${license.slug}" is the default of its family. Make another version the default, or unset it, first.`,
      })
    case undefined:
  }
})

const make = Effect.gen(function* () {
  const repo = yield* LicensesRepo
  const events = yield* Events
  const transactions = yield* Transactions

  const transition = <E>(
    name: string,
    allowed: (license: License) => Effect.Effect<void, E>,
    next: LifecycleState,
    event: EventName,
  ) =>
    Effect.fn(name)(function* (slug: string) {
      const caller = yield* Caller
      return yield* transactions.run(
        Effect.gen(function* () {
          // The lock waits for instances that are being put on this version, and keeps new ones away.
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
          yield* events.emit(caller, event, license)
          return license
        }),
      )
    })

  return {
    publish: transition("LicenseLifecycle.publish", mayPublish, "PUBLISHED", "LICENSE_PUBLISHED"),
    /** Instances on the version keep it; its family stops resolving to it, and no instance can be put on it. */
    archive: transition("LicenseLifecycle.archive", mayArchive, "ARCHIVED", "LICENSE_ARCHIVED"),
    unarchive: transition("LicenseLifecycle.unarchive", mayUnarchive, "PUBLISHED", "LICENSE_UNARCHIVED"),
  }
})

/** Moves license versions from state to state. */
export class LicenseLifecycle extends Context.Service<LicenseLifecycle, Effect.Success<typeof make>>()(
  "keyshelf/licenses/LicenseLifecycle",
) {
  static readonly layer = Layer.effect(LicenseLifecycle, make)
}
