/** SQL statements for people and memberships. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Schema } from "effect"
import type { Option } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { Fragment } from "effect/sql/Statement"
import { platformIdentity, Role } from "../../kernel/contract/Caller.ts"
import type { ActorReference } from "../../kernel/contract/Caller.ts"
import { OrganizationId, Uuid } from "../../kernel/values/Identifiers.ts"
import { idBefore } from "../../kernel/contract/Page.ts"
import type { Position } from "../../kernel/contract/Page.ts"
import { advisoryLock, decoded, decodedOne, executed, records, returnedRow } from "../../kernel/database/Statements.ts"
import { organizationsNamed } from "../organizations/OrganizationsSql.ts"
import { Membership, User } from "./Model.ts"
import type { Member } from "./Model.ts"

/** A membership with the id of its row, which lists are sorted by. */
const MembershipRow = Schema.Struct({ ...Membership.fields, organizationId: OrganizationId, id: Uuid })
export type MembershipRow = typeof MembershipRow.Type

/** A member with the id of the membership's row, which lists are sorted by. */
type MemberRow = Member & { readonly id: string }

const SignedInRow = Schema.Struct({
  organizationId: OrganizationId,
  userId: Schema.NullOr(Schema.String),
  isUserRemoved: Schema.Boolean,
  userName: Schema.NullOr(Schema.String),
  membershipId: Schema.NullOr(Schema.String),
  role: Schema.NullOr(Role),
})

/** An organization, with the person of an identity and their current membership as far as there are any. */
export type SignedIn = typeof SignedInRow.Type

interface PeopleQueries {
  /** Inserts the row. Returns false if another user has the issuer and subject. */
  readonly insertUser: (row: User) => Effect.Effect<boolean>
  /** Finds a person by id, unless they are removed or the platform's own identity. */
  readonly findUser: (id: string) => Effect.Effect<Option.Option<User>>
  /** Locks a person who gets a membership. A removal of the person waits for the transaction, or comes first. */
  readonly lockUserForShare: (id: string) => Effect.Effect<Option.Option<User>>
  /** Marks a person as removed and forgets the e-mail address. Returns false if there is no such person. */
  readonly removeUser: (id: string, by: ActorReference, at: Date) => Effect.Effect<boolean>
  /** Takes issuer and subject from the removed person that has them, so that another person can have them. */
  readonly releaseIdentity: (issuer: string, subject: string) => Effect.Effect<void>
  /** Finds the person with an issuer and a subject, removed ones too. */
  readonly findUserByIdentity: (issuer: string, subject: string) => Effect.Effect<Option.Option<User>>
  /** Up to `count` people, from the newest on, after a position, but for removed ones. */
  readonly listUsers: (after: Position | null, count: number) => Effect.Effect<ReadonlyArray<User>>
  /**
   * Reads at most two organizations that match an id, slug or external id. Each row has the person of this identity
   * and their current membership, if any. Every request of a person runs this.
   */
  readonly findSignedIn: (
    organization: string,
    issuer: string,
    subject: string,
  ) => Effect.Effect<ReadonlyArray<SignedIn>>
  /** Locks a person's membership until the transaction ends, so that creations and removals run one at a time. */
  readonly lockMembership: (organizationId: OrganizationId, userId: string) => Effect.Effect<void>
  /** Reads all memberships of the person in the organization, current and removed. */
  readonly membershipHistory: (
    organizationId: OrganizationId,
    userId: string,
  ) => Effect.Effect<ReadonlyArray<{ readonly removed: boolean }>>
  /** Stores a membership. Needs the lock of {@link lockMembership}. */
  readonly insertMembership: (row: MembershipRow) => Effect.Effect<void>
  /** Reads the current membership and locks its row until the transaction ends. */
  readonly lockCurrentMembership: (
    organizationId: OrganizationId,
    userId: string,
  ) => Effect.Effect<Option.Option<MembershipRow>>
  /** Changes the role of the current membership. */
  readonly updateRole: (organizationId: OrganizationId, userId: string, role: Role) => Effect.Effect<void>
  /** Ends all current memberships of a person and returns the changed rows. */
  readonly removeMembershipsOf: (
    userId: string,
    by: ActorReference,
    at: Date,
  ) => Effect.Effect<ReadonlyArray<MembershipRow>>
  /** Ends the current membership. Returns the changed row, or none if the person is not a member. */
  readonly removeMembership: (
    organizationId: OrganizationId,
    userId: string,
    by: ActorReference,
    at: Date,
  ) => Effect.Effect<Option.Option<MembershipRow>>
  /** Up to `count` memberships of an organization, from the newest on, after a position. */
  readonly listMemberships: (
    organizationId: OrganizationId,
    includeRemoved: boolean,
    after: Position | null,
    count: number,
  ) => Effect.Effect<ReadonlyArray<MembershipRow>>
  /** Up to `count` current members of an organization, from the newest membership on, after a position. */
  readonly listMembers: (
    organizationId: OrganizationId,
    after: Position | null,
    count: number,
  ) => Effect.Effect<ReadonlyArray<MemberRow>>
}

/** Where the membership of a person who signs in comes from. */
interface MembershipSql {
  readonly columns: Fragment
  readonly join: Fragment
}

/** Reads at most two organizations with this id, slug or external id, each with the person of an identity. */
export const findOrganizations = (
  sql: SqlClient,
  name: string,
  { issuer, subject }: { readonly issuer: string; readonly subject: string },
  { columns, join }: MembershipSql,
) =>
  decoded(SignedInRow)(sql`
    SELECT organizations.id AS "organizationId", users.id AS "userId", users.name AS "userName",
      users.removed_at IS NOT NULL AS "isUserRemoved", ${columns}
    FROM (${organizationsNamed(sql, name)}) AS organizations
    LEFT JOIN users ON users.issuer = ${issuer} AND users.subject = ${subject}
    ${join}
    LIMIT 2`)

const users = (sql: PgClient.PgClient) => {
  const userColumns = sql.literal(`id, name, email, issuer, subject, created_at AS "createdAt",
    created_by AS "createdBy"`)

  return {
    insertUser: (row) =>
      returnedRow(sql`
        INSERT INTO users (id, name, email, issuer, subject, created_at, created_by)
        VALUES (${row.id}, ${row.name}, ${row.email}, ${row.issuer}, ${row.subject}, ${row.createdAt},
          ${sql.json(row.createdBy)})
        ON CONFLICT ON CONSTRAINT users_identity DO NOTHING
        RETURNING id`),

    findUser: (id) =>
      decodedOne(User)(sql`
        SELECT ${userColumns} FROM users
        WHERE id = ${id} AND removed_at IS NULL AND id <> ${platformIdentity.id}`),

    lockUserForShare: (id) =>
      decodedOne(User)(sql`
        SELECT ${userColumns} FROM users
        WHERE id = ${id} AND removed_at IS NULL AND id <> ${platformIdentity.id} FOR SHARE`),

    removeUser: (id, by, at) =>
      returnedRow(sql`
        UPDATE users SET removed_at = ${at}, removed_by = ${sql.json(by)}, email = NULL
        WHERE id = ${id} AND removed_at IS NULL RETURNING id`),

    releaseIdentity: (issuer, subject) =>
      executed(sql`
        UPDATE users SET issuer = NULL, subject = NULL
        WHERE issuer = ${issuer} AND subject = ${subject} AND removed_at IS NOT NULL`),

    findUserByIdentity: (issuer, subject) =>
      decodedOne(User)(sql`SELECT ${userColumns} FROM users WHERE issuer = ${issuer} AND subject = ${subject}`),

    listUsers: (after, count) =>
      records<User>()(sql`
        SELECT ${userColumns} FROM users
        WHERE id < ${idBefore(after)} AND removed_at IS NULL AND id <> ${platformIdentity.id}
        ORDER BY id DESC LIMIT ${count}`),
  } satisfies Partial<PeopleQueries>
}

const memberships = (sql: PgClient.PgClient, columns: Fragment) =>
  ({
    lockMembership: (organizationId, userId) =>
      advisoryLock(sql, `memberships:${organizationId}:${userId.toLowerCase()}`),

    membershipHistory: (organizationId, userId) =>
      decoded(Schema.Struct({ removed: Schema.Boolean }))(sql`
        SELECT removed_at IS NOT NULL AS removed FROM memberships
        WHERE organization_id = ${organizationId} AND user_id = ${userId}`),

    insertMembership: (row) =>
      executed(sql`
        INSERT INTO memberships (organization_id, id, user_id, role, created_at, created_by)
        VALUES (${row.organizationId}, ${row.id}, ${row.userId}, ${row.role}, ${row.createdAt},
          ${sql.json(row.createdBy)})`),

    lockCurrentMembership: (organizationId, userId) =>
      decodedOne(MembershipRow)(sql`
        SELECT ${columns} FROM memberships JOIN users ON users.id = memberships.user_id
        WHERE memberships.organization_id = ${organizationId} AND memberships.user_id = ${userId}
          AND memberships.removed_at IS NULL FOR UPDATE OF memberships`),

    updateRole: (organizationId, userId, role) =>
      executed(sql`
        UPDATE memberships SET role = ${role}
        WHERE organization_id = ${organizationId} AND user_id = ${userId} AND removed_at IS NULL`),

    removeMembershipsOf: (userId, by, at) =>
      decoded(MembershipRow)(sql`
        UPDATE memberships SET removed_at = ${at}, removed_by = ${sql.json(by)}
        FROM users
        WHERE memberships.user_id = ${userId} AND memberships.removed_at IS NULL AND users.id = memberships.user_id
        RETURNING ${columns}`),

    removeMembership: (organizationId, userId, by, at) =>
      decodedOne(MembershipRow)(sql`
        UPDATE memberships SET removed_at = ${at}, removed_by = ${sql.json(by)}
        FROM users
        WHERE memberships.organization_id = ${organizationId} AND memberships.user_id = ${userId}
          AND memberships.removed_at IS NULL AND users.id = memberships.user_id
        RETURNING ${columns}`),
  }) satisfies Partial<PeopleQueries>

/** The memberships and members of an organization. */
const lists = (sql: PgClient.PgClient, columns: Fragment) =>
  ({
    listMemberships: (organizationId, includeRemoved, after, count) =>
      records<MembershipRow>()(sql`
        SELECT ${columns} FROM memberships JOIN users ON users.id = memberships.user_id
        WHERE memberships.organization_id = ${organizationId} AND memberships.id < ${idBefore(after)}
          AND (${includeRemoved} OR memberships.removed_at IS NULL)
        ORDER BY memberships.id DESC LIMIT ${count}`),

    listMembers: (organizationId, after, count) =>
      records<MemberRow>()(sql`
        SELECT memberships.id, json_build_object('id', users.id, 'name', users.name, 'email', users.email) AS user,
          memberships.role, memberships.created_at AS "createdAt"
        FROM memberships JOIN users ON users.id = memberships.user_id
        WHERE memberships.organization_id = ${organizationId} AND memberships.id < ${idBefore(after)}
          AND memberships.removed_at IS NULL
        ORDER BY memberships.id DESC LIMIT ${count}`),
  }) satisfies Partial<PeopleQueries>

const signIns = (sql: PgClient.PgClient) => {
  const joinedMembership = {
    columns: sql.literal('memberships.id AS "membershipId", memberships.role'),
    join: sql.literal(`LEFT JOIN memberships ON memberships.organization_id = organizations.id
      AND memberships.user_id = users.id AND memberships.removed_at IS NULL`),
  }

  return {
    findSignedIn: (organization, issuer, subject) =>
      findOrganizations(sql, organization, { issuer, subject }, joinedMembership),
  } satisfies Partial<PeopleQueries>
}

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const membershipColumns = sql.literal(`memberships.id, memberships.organization_id AS "organizationId",
    memberships.user_id AS "userId", users.name AS "userName", memberships.role,
    memberships.created_at AS "createdAt", memberships.created_by AS "createdBy",
    memberships.removed_at AS "removedAt"`)
  return {
    ...users(sql),
    ...memberships(sql, membershipColumns),
    ...lists(sql, membershipColumns),
    ...signIns(sql),
  } satisfies PeopleQueries
})

/** Stores people and memberships. */
export class PeopleRepo extends Context.Service<PeopleRepo, PeopleQueries>()("keyshelf/people/Repo") {
  static readonly layer = Layer.effect(PeopleRepo, make)
}
