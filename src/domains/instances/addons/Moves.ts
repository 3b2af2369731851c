/** Moves what instances have of one version of an add-on to another version, in the transaction of the caller. */
import { Context, Effect, Layer } from "effect"
import type { Transaction } from "../../../kernel/database/Transactions.ts"
import { newId } from "../../../kernel/values/Identifiers.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { Events } from "../../events/Service.ts"
import type { EventSource } from "../../events/Service.ts"
import type { License } from "../../licenses/Model.ts"
import { InstancesRepo } from "../Repo.ts"
import { AddOnsRepo } from "./Repo.ts"
import type { HeldAddOn } from "./Repo.ts"
import { recordOf } from "./Rules.ts"

/** A move from one version of an add-on to another one of its family. */
interface AddOnMove {
  readonly from: string
  readonly to: Pick<License, "id" | "slug">
}

/** Moves instances between versions of add-ons. */
export class AddOnMoves extends Context.Service<
  AddOnMoves,
  {
    /**
     * Moves what those of the instances still have of the version `from`, in force or planned, with an event for each. Returns their
     * ids. The caller makes sure that `to` exists until the transaction ends.
     */
    readonly move: (
      source: EventSource,
      ids: ReadonlyArray<string>,
      move: AddOnMove,
    ) => Effect.Effect<ReadonlySet<string>, never, Transaction>
  }
>()("keyshelf/instances/addons/AddOnMoves") {
  static readonly layer = Layer.suspend(() => Layer.effect(AddOnMoves, make))
}

const make = Effect.gen(function* () {
  const instances = yield* InstancesRepo
  const repo = yield* AddOnsRepo
  const events = yield* Events

  /** Ends an add-on, and lets the other version follow it with the same quantity and end. */
  const replace = Effect.fnUntraced(function* (source: EventSource, held: HeldAddOn, to: AddOnMove["to"], at: Date) {
    const { actor, organizationId } = source
    const isInForce = held.startsAt < at
    yield* isInForce ? repo.cut(organizationId, held.id, at) : repo.end(organizationId, [held.id], actor, at)
    const { familyId, instanceId } = held
    const before = recordOf(held)
    const moved = {
      ...before,
      id: yield* newId,
      license: to.slug,
      startsAt: isInForce ? at : held.startsAt,
      createdAt: at,
      createdBy: actor,
    }
    yield* repo.insert(organizationId, { ...moved, instanceId, familyId, licenseId: to.id })
    yield* events.emitChange(source, "INSTANCE_ADD_ON_SET", { ...before, instanceId }, { ...moved, instanceId })
  })

  return AddOnMoves.of({
    move: Effect.fnUntraced(function* (source, ids, { from, to }) {
      const { organizationId } = source
      yield* instances.lockByIds(organizationId, ids)
      const at = yield* now
      const held = yield* repo.held(organizationId, ids, from, at)
      for (const one of held) yield* replace(source, one, to, at)
      const moved = new Set(held.map(({ instanceId }) => instanceId))
      if (moved.size > 0) yield* repo.repeat(organizationId, [...moved], at)
      return moved
    }),
  })
})
