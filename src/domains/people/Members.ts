/** The members of an organization, as its people and machines see them. */
import { Context, Effect, Layer } from "effect"
import { Caller } from "../../kernel/contract/Caller.ts"
import { byId, Cursors } from "../../kernel/contract/Page.ts"
import type { Page, PageRequest } from "../../kernel/contract/Page.ts"
import type { InvalidCursor } from "../../kernel/contract/Problem.ts"
import type { Member } from "./Model.ts"
import { PeopleRepo } from "./Repo.ts"

/** Lists members. The operator manages them as `Memberships`. */
export class Members extends Context.Service<
  Members,
  {
    /** Lists the current members of the caller's organization, newest first. */
    readonly list: (request: PageRequest) => Effect.Effect<Page<Member>, InvalidCursor, Caller>
  }
>()("keyshelf/people/Members") {
  static readonly layer = Layer.effect(
    Members,
    Effect.gen(function* () {
      const repo = yield* PeopleRepo
      const cursors = yield* Cursors

      const list = Effect.fn("Members.list")(function* (request: PageRequest) {
        const { organizationId } = yield* Caller
        const page = yield* cursors.page(
          { name: "members", organizationId },
          request,
          (after, count) => repo.listMembers(organizationId, after, count),
          byId,
        )
        return { ...page, items: page.items.map(({ id: _, ...member }) => member) }
      })

      return Members.of({ list })
    }),
  )
}
