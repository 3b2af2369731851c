/** {@link PeopleRepo} on Citus, where people are in a reference table and memberships in shards. */
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer, Schema } from "effect"
import { Role } from "../../../kernel/contract/Caller.ts"
import { advisoryLock, decoded } from "../../../kernel/database/Statements.ts"
import { findOrganizations, PeopleRepo } from "../Repo.ts"
import type { SignedIn } from "../Repo.ts"

export const layer = Layer.effect(
  PeopleRepo,
  Effect.gen(function* () {
    const sql = yield* PgClient.PgClient
    const repo = yield* PeopleRepo

    // A row lock in a reference table locks all of its rows against writes: first sign-ins of two people would be a deadlock.
    const lockPerson = (id: string, mode: "alone" | "shared") => advisoryLock(sql, `users:${id.toLowerCase()}`, mode)

    const noMembership = { columns: sql.literal('NULL AS "membershipId", NULL AS role'), join: sql.literal("") }

    // A join with organizations that are found by name would ask all shards.
    const withMembership = (row: SignedIn) =>
      Effect.map(
        decoded(Schema.Struct({ membershipId: Schema.String, role: Role }))(sql`
          SELECT id AS "membershipId", role FROM memberships
          WHERE organization_id = ${row.organizationId} AND user_id = ${row.userId} AND removed_at IS NULL`),
        ([membership]) => ({ ...row, ...membership }),
      )

    return PeopleRepo.of({
      ...repo,
      lockUserForShare: (id) => Effect.andThen(lockPerson(id, "shared"), repo.findUser(id)),
      removeUser: (id, by, at) => Effect.andThen(lockPerson(id, "alone"), repo.removeUser(id, by, at)),
      findSignedIn: (organization, issuer, subject) =>
        Effect.flatMap(
          findOrganizations(sql, organization, { issuer, subject }, noMembership),
          Effect.forEach(withMembership),
        ),
    })
  }),
).pipe(Layer.provide(PeopleRepo.layer))
