/** Changes of one instance, under its lock. */
import { Effect, Option } from "effect"
import { Events } from "../../events/Service.ts"
import { Caller } from "../../../kernel/contract/Caller.ts"
import { requireUnchanged } from "../../../kernel/contract/Rewritable.ts"
import { failWithErrors } from "../../../kernel/contract/Problem.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { Transactions } from "../../../kernel/database/Transactions.ts"
import type { Transaction } from "../../../kernel/database/Transactions.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { Licenses } from "../../licenses/Service.ts"
import { MetadataValues } from "../../metadata/MetadataValues.ts"
import { instanceNotFound, UpdateInstanceLicenseArchived } from "../Errors.ts"
import { UpdateInstance } from "../Model.ts"
import type { Instance, InstanceChoice } from "../Model.ts"
import { InstancesRepo } from "../Repo.ts"
import { changeErrors, customerReference, licenseReference, withoutCurrentNames } from "../Rules.ts"
import { graceEndCheck } from "./GraceEnds.ts"
import { references } from "./References.ts"

/** Stores something within the transaction that creates or changes an instance, before the event is emitted. */
export type WithinTransaction<E> = (instance: Instance) => Effect.Effect<void, E, Transaction>

/** Changes an instance by a body, or by what is stored beside its row. */
export const changes = Effect.gen(function* () {
  const repo = yield* InstancesRepo
  const licenses = yield* Licenses
  const metadataValues = yield* MetadataValues
  const events = yield* Events
  const transactions = yield* Transactions
  const { customerOf, licenseOf, zoneOf } = yield* references
  const requireGraceEnd = graceEndCheck(licenses.lock)

  /** Locks an instance, stores the result of `decide` and emits the event. */
  const changing = Effect.fnUntraced(function* <E>(
    choice: InstanceChoice,
    decide: (current: Instance, organizationId: OrganizationId) => Effect.Effect<Instance, E, Transaction>,
  ) {
    const caller = yield* Caller
    return yield* transactions.run(
      Effect.gen(function* () {
        const current = yield* "instanceId" in choice
          ? repo.lockById(caller.organizationId, choice.instanceId)
          : repo.lockBySlug(caller.organizationId, choice.instanceSlug)
        if (Option.isNone(current)) {
          return yield* instanceNotFound("instanceId" in choice ? choice.instanceId : choice.instanceSlug)
        }
        const decided = yield* decide(current.value, caller.organizationId)
        const updated = { ...decided, updatedAt: yield* now, updatedBy: caller.actor }
        const record = yield* repo.update(caller.organizationId, updated)
        yield* events.emitChange(caller, "INSTANCE_UPDATED", current.value, record)
        return record
      }),
    )
  })

  const change = Effect.fn("Instances.change")(function* <E = never>(
    choice: InstanceChoice,
    sent: UpdateInstance,
    withinTransaction?: WithinTransaction<E>,
  ) {
    return yield* changing(
      choice,
      Effect.fnUntraced(function* (current, organizationId) {
        if (withinTransaction !== undefined) yield* withinTransaction(current)
        yield* requireUnchanged(UpdateInstance, current, sent)
        const input = withoutCurrentNames(current, sent)
        yield* failWithErrors(changeErrors(current, input))
        const metadata = input.metadata === undefined ? current.metadata : (input.metadata ?? {})
        yield* metadataValues.check(organizationId, "INSTANCE", current.metadata, metadata)
        const customer = customerReference(input)
        const license = licenseReference(input)
        const namedCustomer = customer === undefined ? {} : yield* customerOf(organizationId, customer)
        const namedLicense =
          license === undefined
            ? {}
            : yield* licenseOf(organizationId, license, {
                assigned: current.licenseId,
                whenArchived: (problem) => new UpdateInstanceLicenseArchived(problem),
              })
        const updated: Instance = {
          ...current,
          name: input.name ?? current.name,
          description: input.description === undefined ? current.description : input.description,
          ...namedCustomer,
          ...namedLicense,
          ...(input.deploymentZoneId === undefined ? {} : yield* zoneOf(organizationId, input.deploymentZoneId)),
          startLicenseDate: input.startLicenseDate ?? current.startLicenseDate,
          endLicenseDate: input.endLicenseDate === undefined ? current.endLicenseDate : input.endLicenseDate,
          graceDays: input.graceDays === undefined ? current.graceDays : input.graceDays,
          endMaintenanceDate:
            input.endMaintenanceDate === undefined ? current.endMaintenanceDate : input.endMaintenanceDate,
          metadata,
        }
        yield* requireGraceEnd(organizationId, updated, current, input)
        return updated
      }),
    )
  })

  const attach = Effect.fn("Instances.attach")(function* <E>(slug: string, withinTransaction: WithinTransaction<E>) {
    return yield* changing({ instanceSlug: slug }, (current) => Effect.as(withinTransaction(current), current))
  })

  return { change, attach }
})
