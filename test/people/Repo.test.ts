/** What both forms of the repository of people promise. */
import { assert, layer } from "@effect/vitest"
import { PgClient } from "@effect/sql-pg"
import { Deferred, Effect, Fiber, Layer, Option } from "effect"
import { randomUUID } from "node:crypto"
import { PeopleRepo } from "../../src/domains/people/Repo.ts"
import * as Sharded from "../../src/domains/people/sharded/RepoSharded.ts"
import { platformIdentity } from "../../src/kernel/contract/Caller.ts"
import type { Role } from "../../src/kernel/contract/Caller.ts"
import { returnedRow } from "../../src/kernel/database/Statements.ts"
import { Transactions } from "../../src/kernel/database/Transactions.ts"
import { newId } from "../../src/kernel/values/Identifiers.ts"
import type { OrganizationId } from "../../src/kernel/values/Identifiers.ts"
import { formsOf } from "../support/forms.ts"
import { TestService } from "../support/TestService.ts"
import { until } from "../support/until.ts"
import { organizationIdOf } from "../support/organizationIds.ts"

const by = { id: platformIdentity.id, name: "test" }
const at = new Date("2026-01-01T00:00:00Z")

/** Returns a row while a statement in this database waits for a lock. */
const waiting = Effect.map(
  PgClient.PgClient,
  (sql) => sql`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
)

/** A person, and functions that create organizations and memberships. */
const person = Effect.gen(function* () {
  const repo = yield* PeopleRepo
  const { operator, platform } = yield* TestService
  const user = {
    id: yield* newId,
    name: "Anna",
    email: "anna@example.com",
    issuer: "https://issuer.example.com",
    subject: randomUUID(),
    createdAt: at,
    createdBy: by,
  }
  yield* repo.insertUser(user)
  const organization = Effect.fnUntraced(function* (properties: object = {}) {
    const body = { name: "Office", slug: `office-${randomUUID()}`, ...properties }
    const created = yield* platform("POST", "/platform/organizations", { token: operator, body })
    const { externalId, id, slug } = created.body as Readonly<Record<"id" | "slug" | "externalId", string>>
    return { id: organizationIdOf(id), slug, externalId }
  })
  const join = Effect.fnUntraced(function* (organizationId: OrganizationId, role: Role) {
    const id = yield* newId
    const row = { id, organizationId, userId: user.id, userName: user.name, role, createdAt: at, createdBy: by }
    yield* repo.insertMembership({ ...row, removedAt: null })
    return id
  })
  const signIn = (name: string) => repo.findSignedIn(name, user.issuer, user.subject)
  return { repo, user, organization, join, signIn }
})

for (const { form, repository } of formsOf(PeopleRepo.layer, Sharded.layer)) {
  layer(Layer.provideMerge(repository, TestService.layer), { excludeTestServices: true })(`people, ${form},`, (it) => {
    it.effect("sign in by id, slug and external id of their organization", () =>
      Effect.gen(function* () {
        const { join, organization, signIn, user } = yield* person
        const externalId = randomUUID()
        const { id, slug } = yield* organization({ externalId })
        const membershipId = yield* join(id, "ADMIN")
        const found = {
          organizationId: id,
          userId: user.id,
          isUserRemoved: false,
          userName: "Anna",
          membershipId,
          role: "ADMIN" as const,
        }
        for (const name of [id, slug, externalId]) assert.deepStrictEqual(yield* signIn(name), [found])
      }),
    )

    it.effect("are found without a membership, and organizations without the person", () =>
      Effect.gen(function* () {
        const { join, organization, repo, signIn, user } = yield* person
        const { id } = yield* organization()
        const none = { membershipId: null, role: null }
        const found = { organizationId: id, userId: user.id, isUserRemoved: false, userName: "Anna", ...none }
        assert.deepStrictEqual(yield* signIn(id), [found])
        assert.deepStrictEqual(yield* repo.findSignedIn(id, user.issuer, "another"), [
          { ...found, userId: null, userName: null },
        ])
        yield* join(id, "MEMBER")
        yield* repo.removeMembership(id, user.id, by, at)
        assert.deepStrictEqual(yield* signIn(id), [found])
        yield* repo.removeUser(user.id, by, at)
        assert.deepStrictEqual(yield* signIn(id), [{ ...found, isUserRemoved: true }])
        assert.deepStrictEqual(yield* signIn(randomUUID()), [])
      }),
    )

    it.effect("sign in to each of two organizations with the same name in their own role", () =>
      Effect.gen(function* () {
        const { join, organization, signIn } = yield* person
        const mine = yield* organization()
        const theirs = yield* organization({ externalId: mine.slug })
        yield* join(theirs.id, "VIEWER")
        const found = yield* signIn(mine.slug)
        assert.sameDeepMembers(
          found.map(({ organizationId, role }) => [organizationId, role]),
          [
            [mine.id, null],
            [theirs.id, "VIEWER"],
          ],
        )
      }),
    )

    it.effect("are removed only after the transaction that gives them a membership", () =>
      Effect.gen(function* () {
        const { repo, user } = yield* person
        const transactions = yield* Transactions
        const [locked, ending] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
        const joining = yield* Effect.forkChild(
          transactions.run(
            Effect.gen(function* () {
              const found = yield* repo.lockUserForShare(user.id)
              yield* Deferred.succeed(locked, undefined)
              yield* Deferred.await(ending)
              return found
            }),
          ),
        )
        yield* Deferred.await(locked)
        const removal = yield* Effect.forkChild(transactions.run(repo.removeUser(user.id, by, at)))
        yield* until("the removal waits for a lock", returnedRow(yield* waiting))
        yield* Deferred.succeed(ending, undefined)
        assert.isTrue(Option.isSome(yield* Fiber.join(joining)))
        assert.isTrue(yield* Fiber.join(removal))
        assert.deepStrictEqual(yield* transactions.run(repo.lockUserForShare(user.id)), Option.none())
        assert.isFalse(yield* transactions.run(repo.removeUser(user.id, by, at)))
      }),
    )
  })
}
