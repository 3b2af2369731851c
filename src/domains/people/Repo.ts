/** SQL statements for people and memberships. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Schema } from "effect"
import type { Fragment } from "effect/sql/Statement"
import { platformIdentity, Role } from "../../kernel/contract/Caller.ts"
import type { ActorReference } from "../../kernel/contract/Caller.ts"
import { Uuid } from "../../kernel/values/Identifiers.ts"
import { idBefore } from "../../kernel/contract/Page.ts"
import type { Position } from "../../kernel/contract/Page.ts"
import { decoded, advisoryLock, hasCitus, record, records, returnedRow } from "../../kernel/database/Statements.ts"
import type { Member, Membership, User } from "./Model.ts"

/** A membership with the id of its row, which lists are sorted by. */
export type MembershipRow = Membership & { readonly id: string }

/** A member with the id of the membership's row, which lists are sorted by. */
type MemberRow = Member & { readonly id: string }

const isUuid = Schema.is(Uuid)

/** Where the membership of a person who signs in comes from. */
interface MembershipSql {
  readonly columns: Fragment
  readonly join: Fragment
}

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const isSharded = yield* hasCitus(sql)
  const userColumns = sql.literal(`id, name, email, issuer, subject, created_at AS "createdAt",
    created_by AS "createdBy"`)
  const membershipColumns = sql.literal(`memberships.id, memberships.organization_id AS "organizationId",
    memberships.user_id AS "userId", users.name AS "userName", memberships.role,
    memberships.created_at AS "createdAt", memberships.created_by AS "createdBy",
    memberships.removed_at AS "removedAt"`)
  const signedIn = decoded(
    Schema.Struct({
      organizationId: Schema.String,
      userId: Schema.NullOr(Schema.String),
      isUserRemoved: Schema.Boolean,
      userName: Schema.NullOr(Schema.String),
      membershipId: Schema.NullOr(Schema.String),
      role: Schema.NullOr(Role),
    }),
  )

  // On Citus a row lock in a reference table locks all of its rows against writes: first sign-ins of two people would be a deadlock.
  const lockPerson = (id: string, mode: "alone" | "shared") =>
    isSharded ? advisoryLock(sql, `users:${id.toLowerCase()}`, mode) : Effect.void

  const organizationsNamed = (name: string, issuer: string, subject: string, { columns, join }: MembershipSql) => sql`
    SELECT organizations.id AS "organizationId", users.id AS "userId", users.name AS "userName",
      users.removed_at IS NOT NULL AS "isUserRemoved", ${columns}
    FROM organizations
    LEFT JOIN users ON users.issuer = ${issuer} AND users.subject = ${subject}
    ${join}
    WHERE organizations.removed_at IS NULL AND (
      organizations.id = ${isUuid(name) ? name : null}::uuid
      OR organizations.slug = ${name} OR organizations.external_id = ${name})
    LIMIT 2`
  const joinedMembership = {
    columns: sql.literal('memberships.id AS "membershipId", memberships.role'),
    join: sql.literal(`LEFT JOIN memberships ON memberships.organization_id = organizations.id
      AND memberships.user_id = users.id AND memberships.removed_at IS NULL`),
  }
  const noMembership = { columns: sql.literal('NULL AS "membershipId", NULL AS role'), join: sql.literal("") }

  /** On Citus a join with organizations that are found by name would ask all shards. */
  const withMembership = <Row extends { readonly organizationId: string; readonly userId: string | null }>(row: Row) =>
    Effect.map(
      decoded(Schema.Struct({ membershipId: Schema.String, role: Role }))(sql`
        SELECT id AS "membershipId", role FROM memberships
        WHERE organization_id = ${row.organizationId} AND user_id = ${row.userId} AND removed_at IS NULL`),
      ([membership]) => ({ ...row, ...membership }),
    )

  return {
    /** Inserts the row. Returns false if another user has the issuer and subject. */
    insertUser: (row: User) =>
      returnedRow(sql`
        INSERT INTO users (id, name, email, issuer, subject, created_at, created_by)
        VALUES (${row.id}, ${row.name}, ${row.email}, ${row.issuer}, ${row.subject}, ${row.createdAt},
          ${sql.json(row.createdBy)})
        ON CONFLICT ON CONSTRAINT users_identity DO NOTHING
        RETURNING id`),

    findUser: (id: string) =>
      record<User>()(sql`
        SELECT ${userColumns} FROM users
        WHERE id = ${id} AND removed_at IS NULL AND id <> ${platformIdentity.id}`),

    /** Locks a person who gets a membership. A removal of the person waits for the transaction, or comes first. */
    lockUserForShare: (id: string) =>
      Effect.andThen(
        lockPerson(id, "shared"),
        record<User>()(sql`
          SELECT ${userColumns} FROM users
          WHERE id = ${id} AND removed_at IS NULL AND id <> ${platformIdentity.id} ${isSharded ? sql`` : sql`FOR SHARE`}`),
      ),

    /** Marks a person as removed and forgets the e-mail address. Returns false if there is no such person. */
    removeUser: (id: string, by: ActorReference, at: Date) =>
      Effect.andThen(
        lockPerson(id, "alone"),
        returnedRow(sql`
          UPDATE users SET removed_at = ${at}, removed_by = ${sql.json(by)}, email = NULL
          WHERE id = ${id} AND removed_at IS NULL RETURNING id`),
      ),

    /** Takes issuer and subject from the removed person that has them, so that another person can have them. */
    releaseIdentity: (issuer: string, subject: string) =>
      Effect.asVoid(
        Effect.orDie(sql`
          UPDATE users SET issuer = NULL, subject = NULL
          WHERE issuer = ${issuer} AND subject = ${subject} AND removed_at IS NOT NULL`),
      ),

    findUserByIdentity: (issuer: string, subject: string) =>
      record<User>()(sql`SELECT ${userColumns} FROM users WHERE issuer = ${issuer} AND subject = ${subject}`),

    listUsers: (after: Position | null, count: number) =>
      records<User>()(sql`
        SELECT ${userColumns} FROM users
        WHERE id < ${idBefore(after)} AND removed_at IS NULL AND id <> ${platformIdentity.id}
        ORDER BY id DESC LIMIT ${count}`),

    /**
     * Reads at most two organizations that match an id, slug or external id. Each row has the person of this identity
     * and their current membership, if any. Every request of a person runs this.
     */
    findSignedIn: (organization: string, issuer: string, subject: string) =>
      isSharded
        ? Effect.flatMap(
            signedIn(organizationsNamed(organization, issuer, subject, noMembership)),
            Effect.forEach(withMembership),
          )
        : signedIn(organizationsNamed(organization, issuer, subject, joinedMembership)),

    /** Locks a person's membership until the transaction ends, so that creations and removals run one at a time. */
    lockMembership: (organizationId: string, userId: string) =>
      advisoryLock(sql, `memberships:${organizationId}:${userId.toLowerCase()}`),

    /** Reads all memberships of the person in the organization, current and removed. */
    membershipHistory: (organizationId: string, userId: string) =>
      decoded(Schema.Struct({ removed: Schema.Boolean }))(sql`
        SELECT removed_at IS NOT NULL AS removed FROM memberships
        WHERE organization_id = ${organizationId} AND user_id = ${userId}`),

    insertMembership: (row: MembershipRow) =>
      Effect.asVoid(
        Effect.orDie(sql`
          INSERT INTO memberships (organization_id, id, user_id, role, created_at, created_by)
          VALUES (${row.organizationId}, ${row.id}, ${row.userId}, ${row.role}, ${row.createdAt},
            ${sql.json(row.createdBy)})`),
      ),

    /** Reads the current membership and locks its row until the transaction ends. */
    lockCurrentMembership: (organizationId: string, userId: string) =>
      record<MembershipRow>()(sql`
        SELECT ${membershipColumns} FROM memberships JOIN users ON users.id = memberships.user_id
        WHERE memberships.organization_id = ${organizationId} AND memberships.user_id = ${userId}
          AND memberships.removed_at IS NULL FOR UPDATE OF memberships`),

    /** Changes the role of the current membership. */
    updateRole: (organizationId: string, userId: string, role: Role) =>
      Effect.asVoid(
        Effect.orDie(sql`
          UPDATE memberships SET role = ${role}
          WHERE organization_id = ${organizationId} AND user_id = ${userId} AND removed_at IS NULL`),
      ),

    /** Ends all current memberships of a person and returns the changed rows. */
    removeMembershipsOf: (userId: string, by: ActorReference, at: Date) =>
      records<MembershipRow>()(sql`
        UPDATE memberships SET removed_at = ${at}, removed_by = ${sql.json(by)}
        FROM users
        WHERE memberships.user_id = ${userId} AND memberships.removed_at IS NULL AND users.id = memberships.user_id
        RETURNING ${membershipColumns}`),

    /** Ends the current membership. Returns the changed row, or none if the person is not a member. */
    removeMembership: (organizationId: string, userId: string, by: ActorReference, at: Date) =>
      record<MembershipRow>()(sql`
        UPDATE memberships SET removed_at = ${at}, removed_by = ${sql.json(by)}
        FROM users
        WHERE memberships.organization_id = ${organizationId} AND memberships.user_id = ${userId}
          AND memberships.removed_at IS NULL AND users.id = memberships.user_id
        RETURNING ${membershipColumns}`),

    listMemberships: (organizationId: string, includeRemoved: boolean, after: Position | null, count: number) =>
      records<MembershipRow>()(sql`
        SELECT ${membershipColumns} FROM memberships JOIN users ON users.id = memberships.user_id
        WHERE memberships.organization_id = ${organizationId} AND memberships.id < ${idBefore(after)}
          AND (${includeRemoved} OR memberships.removed_at IS NULL)
        ORDER BY memberships.id DESC LIMIT ${count}`),

    listMembers: (organizationId: string, after: Position | null, count: number) =>
      records<MemberRow>()(sql`
        SELECT memberships.id, json_build_object('id', users.id, 'name', users.name, 'email', users.email) AS user,
          memberships.role, memberships.created_at AS "createdAt"
        FROM memberships JOIN users ON users.id = memberships.user_id
        WHERE memberships.organization_id = ${organizationId} AND memberships.id < ${idBefore(after)}
          AND memberships.removed_at IS NULL
        ORDER BY memberships.id DESC LIMIT ${count}`),
  }
})

/** Stores people and memberships. */
export class PeopleRepo extends Context.Service<PeopleRepo, Effect.Success<typeof make>>()("keyshelf/people/Repo") {
  static readonly layer = Layer.effect(PeopleRepo, make)
}
