/** The operator's use cases for people. */
import { Context, Effect, Layer, Option } from "effect"
import { Operator, platformIdentity } from "../../kernel/contract/Caller.ts"
import { newId } from "../../kernel/values/Identifiers.ts"
import { byId, Cursors } from "../../kernel/contract/Page.ts"
import type { Page, PageRequest } from "../../kernel/contract/Page.ts"
import { invalid, noSuch } from "../../kernel/contract/Problem.ts"
import type { InvalidCursor, ValidationFailed } from "../../kernel/contract/Problem.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import { Transactions } from "../../kernel/database/Transactions.ts"
import { CreateUserIdentityTaken, RemoveUserPlatformIdentity, UserNotFound } from "./Errors.ts"
import { Memberships } from "./Memberships.ts"
import type { CreateUser, User } from "./Model.ts"
import { PeopleRepo } from "./Repo.ts"

const notFound = (id: string) => new UserNotFound({ detail: noSuch("user", id) })

/** Manages the people of this installation, without `system:platform`. */
export class Users extends Context.Service<
  Users,
  {
    /** Creates a person, with an identity of the provider if the body names one. No other person may have it. */
    readonly create: (input: CreateUser) => Effect.Effect<User, ValidationFailed | CreateUserIdentityTaken, Operator>
    /** The person with an id. */
    readonly get: (id: string) => Effect.Effect<User, UserNotFound>
    /** A page of people, newest first. */
    readonly list: (request: PageRequest) => Effect.Effect<Page<User>, InvalidCursor>
    /** Removes a person and ends all memberships. */
    readonly remove: (id: string) => Effect.Effect<void, UserNotFound | RemoveUserPlatformIdentity, Operator>
  }
>()("keyshelf/people/Users") {
  static readonly layer = Layer.suspend(() => Layer.effect(Users, make))
}

const make = Effect.gen(function* () {
  const repo = yield* PeopleRepo
  const memberships = yield* Memberships
  const cursors = yield* Cursors
  const transactions = yield* Transactions

  const create = Effect.fn("Users.create")(function* (input: CreateUser) {
    const { actor } = yield* Operator
    const user: User = {
      id: yield* newId,
      name: input.name,
      email: input.email ?? null,
      issuer: input.issuer ?? null,
      subject: input.subject ?? null,
      createdAt: yield* now,
      createdBy: actor,
    }
    if ((user.issuer === null) !== (user.subject === null)) {
      const [missing, given] = user.issuer === null ? ["issuer", "subject"] : ["subject", "issuer"]
      return yield* invalid(`body.${missing}`, `required with ${given}`)
    }
    // A removed person keeps the identity until the operator creates the person again.
    const insert =
      user.issuer === null || user.subject === null
        ? repo.insertUser(user)
        : Effect.andThen(repo.releaseIdentity(user.issuer, user.subject), repo.insertUser(user))
    if (!(yield* transactions.run(insert))) {
      return yield* new CreateUserIdentityTaken({
        detail: `Another user has the subject "${user.subject}" of the issuer ${user.issuer}. Use that user instead.`,
      })
    }
    return user
  })

  const get = Effect.fn("Users.get")(function* (id: string) {
    const user = yield* repo.findUser(id)
    return Option.isSome(user) ? user.value : yield* notFound(id)
  })

  const list = Effect.fn("Users.list")(function* (request: PageRequest) {
    return yield* cursors.page({ name: "users", organizationId: null }, request, repo.listUsers, byId)
  })

  const remove = Effect.fn("Users.remove")(function* (id: string) {
    const operator = yield* Operator
    if (id.toLowerCase() === platformIdentity.id) {
      return yield* new RemoveUserPlatformIdentity({ detail: `${platformIdentity.name} cannot be removed.` })
    }
    yield* transactions.run(
      Effect.gen(function* () {
        // A transaction that adds a membership of the person holds this lock too, so the removal sees that membership.
        if (!(yield* repo.removeUser(id, operator.actor, yield* now))) return yield* notFound(id)
        yield* memberships.removeAllOf(id, operator)
      }),
    )
  })

  return { create, get, list, remove }
})
