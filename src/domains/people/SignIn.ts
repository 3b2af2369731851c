/** Finds the person behind a verified token, and the organization that the token speaks of (contract, section 4). */
import { Context, Effect, Layer, Option } from "effect"
import type { ActorReference } from "../../kernel/contract/Caller.ts"
import { newId } from "../../kernel/values/Identifiers.ts"
import type { Claims, Provider } from "../../kernel/ports/IdentityProvider.ts"
import { NotAMember } from "../../kernel/contract/Problem.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import { Transactions } from "../../kernel/database/Transactions.ts"
import { Memberships } from "./Memberships.ts"
import type { Person, User } from "./Model.ts"
import { PeopleRepo } from "./Repo.ts"
import { organizationNamed, profileOf, scopesFor } from "./Rules.ts"

// One answer for an unknown organization and a foreign one: a token must not tell which organizations exist.
const notAMember = () => new NotAMember({ detail: "The token names no organization that its person is a member of." })

const make = Effect.gen(function* () {
  const repo = yield* PeopleRepo
  const memberships = yield* Memberships
  const transactions = yield* Transactions

  // Requests that come at once make one person: whoever is late finds the row of the first.
  const ensureUser = Effect.fnUntraced(function* (issuer: string, claims: Claims) {
    const id = yield* newId
    const { email, name } = profileOf(claims)
    const createdAt = yield* now
    const user: User = { id, name, email, issuer, subject: claims.subject, createdAt, createdBy: { id, name } }
    if (yield* repo.insertUser(user)) return user
    return yield* Effect.flatMap(repo.findUserByIdentity(issuer, claims.subject), Effect.fromOption)
  })

  /** Makes the person and a first membership. Who was removed stays removed: only the operator adds them again. */
  const provision = Effect.fnUntraced(function* (
    organizationId: string,
    known: ActorReference | undefined,
    provider: Provider,
    claims: Claims,
  ) {
    yield* transactions.run(
      Effect.gen(function* () {
        const user = known ?? (yield* Effect.orDie(ensureUser(provider.issuer, claims)))
        yield* repo.lockMembership(organizationId, user.id)
        const history = yield* repo.membershipHistory(organizationId, user.id)
        // Somebody was faster, with this request's twin or with a removal: read again what is there now.
        if (history.length > 0) return
        const reference = { id: user.id, name: user.name }
        yield* memberships.add(organizationId, reference, "MEMBER", reference)
      }),
    )
  })

  const look = Effect.fnUntraced(function* (provider: Provider, claims: Claims) {
    const organization = organizationNamed(claims, provider.organizationClaim)
    if (Option.isNone(organization)) return yield* notAMember()
    const [row, ambiguous] = yield* repo.findSignedIn(organization.value, provider.issuer, claims.subject)
    // One organization's slug may be another one's external id: what names two names none.
    if (row === undefined || ambiguous !== undefined) return yield* notAMember()
    return {
      organizationId: row.organizationId,
      user: row.userId === null || row.userName === null ? undefined : { id: row.userId, name: row.userName },
      membership: row.membershipId === null || row.role === null ? undefined : { id: row.membershipId, role: row.role },
    }
  })

  /**
   * The person, read from the database for every request: a removed membership or another role binds the next one.
   * Fails with {@link NotAMember} where the token names no organization, or the person is no member of it.
   */
  const admit = Effect.fnUntraced(function* (provider: Provider, claims: Claims) {
    let found = yield* look(provider, claims)
    if (found.membership === undefined && provider.provisioning === "just-in-time") {
      yield* provision(found.organizationId, found.user, provider, claims)
      found = yield* look(provider, claims)
    }
    const { membership, organizationId, user } = found
    if (user === undefined || membership === undefined) return yield* notAMember()
    const person: Person = {
      membershipId: membership.id,
      organizationId,
      user,
      role: membership.role,
      scopes: scopesFor(membership.role, claims),
    }
    return person
  })

  return { admit }
})

/** Admits people with tokens of the identity provider. */
export class SignIn extends Context.Service<SignIn, Effect.Success<typeof make>>()("keyshelf/people/SignIn") {
  static readonly layer = Layer.effect(SignIn, make)
}
