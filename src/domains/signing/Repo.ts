/** SQL of signing keys. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer } from "effect"
import { idBefore } from "../../kernel/contract/Page.ts"
import type { Position } from "../../kernel/contract/Page.ts"
import { isRemoved } from "../../kernel/database/RemovedOrganizations.ts"
import { advisoryLock, decoded, decodedOne, executed } from "../../kernel/database/Statements.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"
import { StoredKey } from "./Model.ts"
import type { KeyPurpose, KeyState } from "./Model.ts"
import type { Option } from "effect"

/** Stores and reads signing keys. */
export class SigningKeysRepo extends Context.Service<
  SigningKeysRepo,
  {
    /** Until the transaction ends, only this transaction creates and activates keys of this purpose. */
    readonly lockPurpose: (organizationId: OrganizationId, purpose: KeyPurpose) => Effect.Effect<void>
    /**
     * Locks the key that signs, shared: it stays the current one until the transaction ends. Finds none while another transaction
     * activates the next one; `lockPurpose` waits for that.
     */
    readonly lockCurrentShared: (
      organizationId: OrganizationId,
      purpose: KeyPurpose,
    ) => Effect.Effect<Option.Option<StoredKey>>
    /** The key that signs, which may be retired at any time. */
    readonly findCurrent: (
      organizationId: OrganizationId,
      purpose: KeyPurpose,
    ) => Effect.Effect<Option.Option<StoredKey>>
    /** The key that is created and not yet activated. */
    readonly findNext: (organizationId: OrganizationId, purpose: KeyPurpose) => Effect.Effect<Option.Option<StoredKey>>
    /** Stores a key. Call `lockPurpose` before. */
    readonly insert: (row: StoredKey) => Effect.Effect<void>
    /** The key with this id, in any state. */
    readonly find: (organizationId: OrganizationId, kid: string) => Effect.Effect<Option.Option<StoredKey>>
    /** Locks a key for a change. */
    readonly lock: (organizationId: OrganizationId, kid: string) => Effect.Effect<Option.Option<StoredKey>>
    /** The keys of all purposes after a position, newest first. */
    readonly list: (
      organizationId: OrganizationId,
      after: Position | null,
      count: number,
    ) => Effect.Effect<ReadonlyArray<StoredKey>>
    /** The keys of a purpose that are not revoked, newest first; none if the organization is removed. */
    readonly findTrusted: (
      organizationId: OrganizationId,
      purpose: KeyPurpose,
    ) => Effect.Effect<ReadonlyArray<StoredKey>>
    /** All keys of a purpose, newest first. */
    readonly findAll: (organizationId: OrganizationId, purpose: KeyPurpose) => Effect.Effect<ReadonlyArray<StoredKey>>
    /** Retires the key that signs. Its private half is cleared. */
    readonly retireCurrent: (organizationId: OrganizationId, purpose: KeyPurpose) => Effect.Effect<void>
    /** Makes a key the one that signs. Call `retireCurrent` before. */
    readonly activate: (organizationId: OrganizationId, kid: string, at: Date) => Effect.Effect<void>
    /** Revokes a key. Its private half is cleared. */
    readonly revoke: (organizationId: OrganizationId, kid: string, at: Date) => Effect.Effect<void>
  }
>()("keyshelf/signing/Repo") {
  static readonly layer = Layer.suspend(() => Layer.effect(SigningKeysRepo, make))
}

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const columns = sql.literal(`organization_id AS "organizationId", kid, id, purpose, state, public_key AS x, sealed,
    created_at AS "createdAt", created_by AS "createdBy", activated_at AS "activatedAt", revoked_at AS "revokedAt"`)

  const findIn = (state: KeyState) => (organizationId: OrganizationId, purpose: KeyPurpose) =>
    decodedOne(StoredKey)(sql`
      SELECT ${columns} FROM signing_keys
      WHERE organization_id = ${organizationId} AND purpose = ${purpose} AND state = ${state}`)

  return SigningKeysRepo.of({
    lockPurpose: (organizationId, purpose) => advisoryLock(sql, `signing-keys/${organizationId}/${purpose}`),

    lockCurrentShared: (organizationId, purpose) =>
      decodedOne(StoredKey)(sql`
        SELECT ${columns} FROM signing_keys
        WHERE organization_id = ${organizationId} AND purpose = ${purpose} AND state = 'CURRENT' FOR SHARE`),

    findCurrent: findIn("CURRENT"),

    findNext: findIn("NEXT"),

    insert: (row) =>
      executed(sql`
        INSERT INTO signing_keys (organization_id, kid, id, purpose, state, public_key, sealed, created_at, created_by,
          activated_at, revoked_at)
        VALUES (${row.organizationId}, ${row.kid}, ${row.id}, ${row.purpose}, ${row.state}, ${row.x}, ${row.sealed},
          ${row.createdAt}, ${sql.json(row.createdBy)}, ${row.activatedAt}, ${row.revokedAt})`),

    find: (organizationId, kid) =>
      decodedOne(StoredKey)(
        sql`SELECT ${columns} FROM signing_keys WHERE organization_id = ${organizationId} AND kid = ${kid}`,
      ),

    lock: (organizationId, kid) =>
      decodedOne(StoredKey)(sql`
        SELECT ${columns} FROM signing_keys WHERE organization_id = ${organizationId} AND kid = ${kid} FOR UPDATE`),

    list: (organizationId, after, count) =>
      decoded(StoredKey)(sql`
        SELECT ${columns} FROM signing_keys
        WHERE organization_id = ${organizationId} AND id < ${idBefore(after)} ORDER BY id DESC LIMIT ${count}`),

    findTrusted: (organizationId, purpose) =>
      decoded(StoredKey)(sql`
        SELECT ${columns} FROM signing_keys
        WHERE organization_id = ${organizationId} AND purpose = ${purpose} AND state <> 'REVOKED'
          AND NOT ${sql.literal(isRemoved("signing_keys.organization_id"))}
        ORDER BY id DESC`),

    findAll: (organizationId, purpose) =>
      decoded(StoredKey)(sql`
        SELECT ${columns} FROM signing_keys
        WHERE organization_id = ${organizationId} AND purpose = ${purpose} ORDER BY id DESC`),

    retireCurrent: (organizationId, purpose) =>
      executed(sql`
        UPDATE signing_keys SET state = 'RETIRED', sealed = NULL
        WHERE organization_id = ${organizationId} AND purpose = ${purpose} AND state = 'CURRENT'`),

    activate: (organizationId, kid, at) =>
      executed(sql`
        UPDATE signing_keys SET state = 'CURRENT', activated_at = ${at}
        WHERE organization_id = ${organizationId} AND kid = ${kid}`),

    revoke: (organizationId, kid, at) =>
      executed(sql`
        UPDATE signing_keys SET state = 'REVOKED', revoked_at = ${at}, sealed = NULL
        WHERE organization_id = ${organizationId} AND kid = ${kid}`),
  })
})
