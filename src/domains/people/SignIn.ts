/** Resolves a verified token to its person and organization. */
import { Context, Effect, Layer, Option } from "effect"
import type { ActorReference } from "../../kernel/contract/Caller.ts"
import { newId } from "../../kernel/values/Identifiers.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"
import type { Claims, Provider } from "../../kernel/ports/IdentityProvider.ts"
import { NotAMember } from "../../kernel/contract/Problem.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import { Transactions } from "../../kernel/database/Transactions.ts"
import { Memberships } from "./Memberships.ts"
import type { Person, User } from "./Model.ts"
import { PeopleRepo } from "./Repo.ts"
import { endOf, organizationOf, profileOf, scopesFor } from "./Rules.ts"

// An unknown organization and a foreign one get the same error, so that it does not reveal which organizations exist.
const notAMember = () =>
  new NotAMember({
    detail: "The token must name an organization that the person is a member of. Ask the operator for a membership.",
  })

/** Admits people with tokens of the identity provider. */
export class SignIn extends Context.Service<
  SignIn,
  {
    /**
     * Reads the person from the database for every request, so that a removal or a new role applies to the next one.
     * Fails with {@link NotAMember} if the token names no organization or the person is not a member of it.
     */
    readonly admit: (provider: Provider, claims: Claims) => Effect.Effect<Person, NotAMember>
  }
>()("keyshelf/people/SignIn") {
  static readonly layer = Layer.suspend(() => Layer.effect(SignIn, make))
}

const make = Effect.gen(function* () {
  const repo = yield* PeopleRepo
  const memberships = yield* Memberships
  const transactions = yield* Transactions

  // Concurrent requests create one person: if the insert conflicts, the existing row is read.
  const ensureUser = Effect.fnUntraced(function* (issuer: string, claims: Claims) {
    const id = yield* newId
    const { email, name } = profileOf(claims)
    const createdAt = yield* now
    const user: User = { id, name, email, issuer, subject: claims.subject, createdAt, createdBy: { id, name } }
    if (yield* repo.insertUser(user)) return user
    return yield* Effect.flatMap(repo.findUserByIdentity(issuer, claims.subject), Effect.fromOption)
  })

  /** Creates the person and a first membership. Only the operator can add a removed person again. */
  const provision = Effect.fnUntraced(function* (
    organizationId: OrganizationId,
    known: ActorReference | undefined,
    provider: Provider,
    claims: Claims,
  ) {
    yield* transactions.run(
      Effect.gen(function* () {
        const { id } = known ?? (yield* Effect.orDie(ensureUser(provider.issuer, claims)))
        const person = yield* repo.lockUserForShare(id)
        // A concurrent request removed the person.
        if (Option.isNone(person)) return
        const user = person.value
        yield* repo.lockMembership(organizationId, user.id)
        const history = yield* repo.membershipHistory(organizationId, user.id)
        // A concurrent request created or removed the membership. The caller reads its current state.
        if (history.length > 0) return
        const reference = { id: user.id, name: user.name }
        yield* memberships.add(organizationId, reference, "MEMBER", { actor: reference, credential: null })
      }),
    )
  })

  const find = Effect.fnUntraced(function* (provider: Provider, claims: Claims) {
    const organization = organizationOf(claims, provider.organizationClaim)
    if (Option.isNone(organization)) return yield* notAMember()
    const [row, ambiguous] = yield* repo.findSignedIn(organization.value, provider.issuer, claims.subject)
    // One organization's slug may be the external id of another. An ambiguous name is rejected. A removed person has no
    // membership and gets none by signing in.
    if (row === undefined || ambiguous !== undefined || row.isUserRemoved) return yield* notAMember()
    return {
      organizationId: row.organizationId,
      user: row.userId === null || row.userName === null ? undefined : { id: row.userId, name: row.userName },
      membership: row.membershipId === null || row.role === null ? undefined : { id: row.membershipId, role: row.role },
    }
  })

  const admit = Effect.fnUntraced(function* (provider: Provider, claims: Claims) {
    let found = yield* find(provider, claims)
    if (found.membership === undefined && provider.provisioning === "just-in-time") {
      yield* provision(found.organizationId, found.user, provider, claims)
      found = yield* find(provider, claims)
    }
    const { membership, organizationId, user } = found
    if (user === undefined || membership === undefined) return yield* notAMember()
    const person: Person = {
      membershipId: membership.id,
      organizationId,
      user,
      role: membership.role,
      scopes: scopesFor(membership.role, claims),
      expiresAt: endOf(claims),
    }
    return person
  })

  return { admit }
})
