/** What blocks the deletion of a record: records of later domains, whose tables the domain of the record does not know. */
import { Context, Effect, Layer } from "effect"
import { Caller } from "../contract/Caller.ts"
import { namedTo } from "../contract/dryruns/Impact.ts"
import type { Affected, Blocking } from "../contract/dryruns/Impact.ts"
import type { OrganizationId } from "../values/Identifiers.ts"

/** What can be deleted while no record of a later domain needs it. */
type Deletable = "component" | "release" | "deploymentZone" | "entitlement" | "license" | "customer"

/** A record that is to be deleted. It is locked. */
interface Deleted {
  readonly id: string
  readonly slug: string
}

/** Finds the records of one kind that need a record. */
type Find = (organizationId: OrganizationId, deleted: Deleted) => Effect.Effect<Affected<Blocking["items"][number]>>

/** The kinds whose items are instances. */
const NAMING_INSTANCES: ReadonlyArray<Blocking["kind"]> = ["instances", "overrides", "usage", "credits"]

/** Finds what blocks deletions. */
export class DeletionBlockers extends Context.Service<
  DeletionBlockers,
  {
    /** Adds records that block deletions from now on. A layer calls it when it is built. */
    readonly register: (what: Deletable, kind: Blocking["kind"], find: Find) => Effect.Effect<void>
    /**
     * What blocks the deletion of a record, within its transaction: the kinds that have some, in the order of the domains. Without names
     * of instances if the caller may not read them.
     */
    readonly find: (what: Deletable, deleted: Deleted) => Effect.Effect<ReadonlyArray<Blocking>, never, Caller>
  }
>()("keyshelf/ports/DeletionBlockers") {
  static readonly layer = Layer.sync(DeletionBlockers, () => {
    const registered: Array<readonly [what: Deletable, kind: Blocking["kind"], find: Find]> = []
    return DeletionBlockers.of({
      register: (what, kind, find) => Effect.sync(() => void registered.push([what, kind, find])),
      find: Effect.fnUntraced(function* (what: Deletable, deleted: Deleted) {
        const caller = yield* Caller
        const found = yield* Effect.forEach(
          registered.filter(([of]) => of === what),
          ([, kind, find]) =>
            Effect.map(find(caller.organizationId, deleted), (affected) => ({
              kind,
              ...(NAMING_INSTANCES.includes(kind) ? namedTo(caller, affected) : affected),
            })),
        )
        return found.filter(({ count }) => count > 0)
      }),
    })
  })
}

/** The layer by which a domain registers its records. */
export const blocks = <R>(what: Deletable, kind: Blocking["kind"], find: Effect.Effect<Find, never, R>) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      yield* (yield* DeletionBlockers).register(what, kind, yield* find)
    }),
  )
