/** SQL of signing keys. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer } from "effect"
import { idBefore } from "../../kernel/contract/Page.ts"
import type { Position } from "../../kernel/contract/Page.ts"
import { isRemoved } from "../../kernel/database/RemovedOrganizations.ts"
import { advisoryLock, executed, record, records } from "../../kernel/database/Statements.ts"
import type { KeyPurpose, KeyState, StoredKey } from "./Model.ts"

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const columns = sql.literal(`organization_id AS "organizationId", kid, id, purpose, state, public_key AS x, sealed,
    created_at AS "createdAt", created_by AS "createdBy", activated_at AS "activatedAt", revoked_at AS "revokedAt"`)

  const findIn = (state: KeyState) => (organizationId: string, purpose: KeyPurpose) =>
    record<StoredKey>()(sql`
      SELECT ${columns} FROM signing_keys
      WHERE organization_id = ${organizationId} AND purpose = ${purpose} AND state = ${state}`)

  return {
    /** Until the transaction ends, only this transaction creates and activates keys of this purpose. */
    lockPurpose: (organizationId: string, purpose: KeyPurpose) =>
      advisoryLock(sql, `signing-keys/${organizationId}/${purpose}`),

    /**
     * Reads the key that signs, and keeps it the current one until the transaction ends. Finds none while another transaction
     * activates the next one: {@link lockPurpose} waits for it.
     */
    keepCurrent: (organizationId: string, purpose: KeyPurpose) =>
      record<StoredKey>()(sql`
        SELECT ${columns} FROM signing_keys
        WHERE organization_id = ${organizationId} AND purpose = ${purpose} AND state = 'CURRENT' FOR SHARE`),

    findCurrent: findIn("CURRENT"),

    findNext: findIn("NEXT"),

    insert: (row: StoredKey) =>
      executed(sql`
        INSERT INTO signing_keys (organization_id, kid, id, purpose, state, public_key, sealed, created_at, created_by,
          activated_at, revoked_at)
        VALUES (${row.organizationId}, ${row.kid}, ${row.id}, ${row.purpose}, ${row.state}, ${row.x}, ${row.sealed},
          ${row.createdAt}, ${sql.json(row.createdBy)}, ${row.activatedAt}, ${row.revokedAt})`),

    find: (organizationId: string, kid: string) =>
      record<StoredKey>()(
        sql`SELECT ${columns} FROM signing_keys WHERE organization_id = ${organizationId} AND kid = ${kid}`,
      ),

    /** Locks the row for a change. */
    lock: (organizationId: string, kid: string) =>
      record<StoredKey>()(sql`
        SELECT ${columns} FROM signing_keys WHERE organization_id = ${organizationId} AND kid = ${kid} FOR UPDATE`),

    list: (organizationId: string, after: Position | null, count: number) =>
      records<StoredKey>()(sql`
        SELECT ${columns} FROM signing_keys
        WHERE organization_id = ${organizationId} AND id < ${idBefore(after)} ORDER BY id DESC LIMIT ${count}`),

    /** The keys of a purpose that are not revoked, newest first; none if the organization is removed. */
    findTrusted: (organizationId: string, purpose: KeyPurpose) =>
      records<StoredKey>()(sql`
        SELECT ${columns} FROM signing_keys
        WHERE organization_id = ${organizationId} AND purpose = ${purpose} AND state <> 'REVOKED'
          AND NOT ${sql.literal(isRemoved("signing_keys.organization_id"))}
        ORDER BY id DESC`),

    /** All keys of a purpose, newest first. */
    findAll: (organizationId: string, purpose: KeyPurpose) =>
      records<StoredKey>()(sql`
        SELECT ${columns} FROM signing_keys
        WHERE organization_id = ${organizationId} AND purpose = ${purpose} ORDER BY id DESC`),

    /** Retires the key that signs. Its private half is cleared. */
    retireCurrent: (organizationId: string, purpose: KeyPurpose) =>
      executed(sql`
        UPDATE signing_keys SET state = 'RETIRED', sealed = NULL
        WHERE organization_id = ${organizationId} AND purpose = ${purpose} AND state = 'CURRENT'`),

    activate: (organizationId: string, kid: string, at: Date) =>
      executed(sql`
        UPDATE signing_keys SET state = 'CURRENT', activated_at = ${at}
        WHERE organization_id = ${organizationId} AND kid = ${kid}`),

    /** Revokes a key. Its private half is cleared. */
    revoke: (organizationId: string, kid: string, at: Date) =>
      executed(sql`
        UPDATE signing_keys SET state = 'REVOKED', revoked_at = ${at}, sealed = NULL
        WHERE organization_id = ${organizationId} AND kid = ${kid}`),
  }
})

/** Stores and reads signing keys. */
export class SigningKeysRepo extends Context.Service<SigningKeysRepo, Effect.Success<typeof make>>()(
  "keyshelf/signing/Repo",
) {
  static readonly layer = Layer.effect(SigningKeysRepo, make)
}
