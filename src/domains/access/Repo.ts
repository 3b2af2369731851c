/** SQL of credentials. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Schema } from "effect"
import type { Option } from "effect"
import type { ActorReference, Confinement } from "../../kernel/contract/Caller.ts"
import { idBefore } from "../../kernel/contract/Page.ts"
import type { Position } from "../../kernel/contract/Page.ts"
import { HotPath } from "../../kernel/database/Connections.ts"
import { IS_USABLE, TOKEN_COLUMNS } from "./tokens/TokensSql.ts"
import {
  advisoryLock,
  decoded,
  decodedOne,
  executed,
  record,
  records,
  returnedRow,
} from "../../kernel/database/Statements.ts"
import { OrganizationId } from "../../kernel/values/Identifiers.ts"
import { AccessToken, RotatableToken, StoredCredential } from "./Model.ts"
import type { CredentialKind, TokenHashes } from "./Model.ts"

/** A credential to store. */
interface NewCredential {
  readonly id: string
  readonly kind: CredentialKind
  readonly organizationId: OrganizationId | null
  /** The identity that the credential authenticates. */
  readonly owner: ActorReference
  readonly confinedTo: Confinement | null
  readonly parentId: string | null
  readonly name: string
  readonly slug: string
  readonly scopes: ReadonlyArray<string>
  readonly hashes: TokenHashes
  readonly expiresAt: Date | null
  readonly createdAt: Date
  readonly createdBy: ActorReference
}

/** Selects the tokens of one owner in one organization, or the platform credentials. */
interface TokenOwner {
  readonly organizationId: OrganizationId | null
  readonly ownerId: string
}

/** A token that a platform credential minted, with its organization. */
const MintedToken = Schema.Struct({ ...AccessToken.fields, organizationId: OrganizationId })
type MintedToken = typeof MintedToken.Type

/** What a credential says about itself. */
type OwnRecord = Pick<AccessToken, "id" | "name" | "slug" | "scopes" | "expiresAt">

/** How a rotated token ends: at a later expiry, or at once by its revocation. */
interface RotationEnd {
  readonly successor: string
  readonly at: Date
  readonly end: { readonly expiresAt: Date } | { readonly revokedBy: ActorReference }
}

/** Stores credentials. */
export class AccessRepo extends Context.Service<
  AccessRepo,
  {
    /** Reads the credentials with these hashes, also ended ones. Look-ups that wait at the same time share one query. */
    readonly findByLookupHashes: (hashes: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<StoredCredential>>
    /** Reads the credentials with these ids, also ended ones. Look-ups that wait at the same time share one query. */
    readonly findByIds: (ids: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<StoredCredential>>
    /** Reads what a credential says about itself. */
    readonly findCredential: (id: string) => Effect.Effect<Option.Option<OwnRecord>>
    /** Reads a credential and locks it against its revocation until the transaction ends. */
    readonly lockShared: (id: string) => Effect.Effect<Option.Option<StoredCredential>>
    /** Stores the credential if its slug is free and returns whether it was. */
    readonly insertCredential: (row: NewCredential) => Effect.Effect<boolean>
    /** The token of an owner with a slug, also an ended one. */
    readonly findToken: (owner: TokenOwner, slug: string) => Effect.Effect<Option.Option<AccessToken>>
    /** The tokens of an owner after a position, newest first. */
    readonly listTokens: (
      owner: TokenOwner,
      after: Position | null,
      count: number,
    ) => Effect.Effect<ReadonlyArray<AccessToken>>
    /** All tokens of an owner, newest first. */
    readonly tokensOf: (owner: TokenOwner) => Effect.Effect<ReadonlyArray<AccessToken>>
    /** Revokes a token. Returns it, or none if there is no such token or it was revoked before. */
    readonly revokeToken: (
      owner: TokenOwner,
      slug: string,
      by: ActorReference,
      at: Date,
    ) => Effect.Effect<Option.Option<AccessToken>>
    /** Revokes all live tokens of an owner and returns them. */
    readonly revokeTokensOf: (
      owner: TokenOwner,
      by: ActorReference,
      at: Date,
    ) => Effect.Effect<ReadonlyArray<AccessToken>>
    /** Stores the identity that requests with the tokens of this owner act as. */
    readonly renameActor: (owner: TokenOwner, actor: ActorReference) => Effect.Effect<void>
    /** Reads a token for rotation and locks its row until the transaction ends. */
    readonly lockToken: (owner: TokenOwner, slug: string) => Effect.Effect<Option.Option<RotatableToken>>
    /** Ends a rotated token: by a new expiry, or immediately by revoking it. */
    readonly endRotated: (id: string, change: RotationEnd) => Effect.Effect<Option.Option<AccessToken>>
    /**
     * Revokes the live tokens that a platform credential minted. As a separate statement it sees the child of a mint
     * that held the parent's lock.
     */
    readonly revokeChildren: (
      parentId: string,
      by: ActorReference,
      at: Date,
    ) => Effect.Effect<ReadonlyArray<MintedToken>>
    /** Locks the bootstrap until the transaction ends, so that starting processes create one credential. */
    readonly lockBootstrap: Effect.Effect<void>
    /** Whether there is a platform credential, in force or ended. */
    readonly platformCredentialExists: Effect.Effect<boolean>
    /** Stores the latest use of each token. A later use from another node is not overwritten. */
    readonly storeLastUse: (uses: ReadonlyArray<readonly [id: string, at: Date]>) => Effect.Effect<void>
  }
>()("keyshelf/access/Repo") {
  static readonly layer = Layer.suspend(() => Layer.effect(AccessRepo, make))
}

const lookups = (sql: PgClient.PgClient, ask: HotPath["Service"]["ask"]) => {
  const storedColumns = sql.literal(`id, kind, organization_id AS "organizationId", instance_id AS "instanceId",
    instance_slug AS "instanceSlug", actor, slug, name, scopes,
    lookup_hash AS "lookupHash", salt, verification_hash AS "verificationHash", pepper_id AS "pepperId",
    expires_at AS "expiresAt", revoked_at AS "revokedAt"`)
  const isUsable = sql.literal(IS_USABLE)
  const storedRow = decodedOne(StoredCredential)

  return {
    // On the hot path of every request: one query serves all waiting look-ups, and its rows are not decoded, which would take 5 µs.
    findByLookupHashes: (hashes: ReadonlyArray<string>) =>
      records<StoredCredential>()(
        ask(
          (own) => own`SELECT ${storedColumns} FROM credentials
          WHERE lookup_hash = ANY(${hashes.map((hex) => Buffer.from(hex, "hex"))}::bytea[]) AND ${isUsable}`,
        ),
      ),

    findByIds: (ids: ReadonlyArray<string>) =>
      records<StoredCredential>()(
        ask((own) => own`SELECT ${storedColumns} FROM credentials WHERE id = ANY(${ids}::uuid[]) AND ${isUsable}`),
      ),

    findCredential: (id: string) =>
      record<OwnRecord>()(sql`
        SELECT id, slug, name, scopes, expires_at AS "expiresAt" FROM credentials WHERE id = ${id}`),

    lockShared: (id: string) => storedRow(sql`SELECT ${storedColumns} FROM credentials WHERE id = ${id} FOR SHARE`),

    lockBootstrap: advisoryLock(sql, "credentials.bootstrap"),

    platformCredentialExists: returnedRow(sql`SELECT 1 FROM credentials WHERE kind = 'platform' LIMIT 1`),
  }
}

const ofOwner = (sql: PgClient.PgClient, owner: TokenOwner) =>
  sql`organization_id IS NOT DISTINCT FROM ${owner.organizationId}::uuid AND owner_id = ${owner.ownerId}`

const reads = (sql: PgClient.PgClient) => {
  const tokenColumns = sql.literal(TOKEN_COLUMNS)
  return {
    findToken: (owner: TokenOwner, slug: string) =>
      record<AccessToken>()(
        sql`SELECT ${tokenColumns} FROM credentials WHERE ${ofOwner(sql, owner)} AND slug = ${slug}`,
      ),

    listTokens: (owner: TokenOwner, after: Position | null, count: number) =>
      records<AccessToken>()(sql`
        SELECT ${tokenColumns} FROM credentials
        WHERE ${ofOwner(sql, owner)} AND id < ${idBefore(after)}
        ORDER BY id DESC LIMIT ${count}`),

    tokensOf: (owner: TokenOwner) =>
      records<AccessToken>()(
        sql`SELECT ${tokenColumns} FROM credentials WHERE ${ofOwner(sql, owner)} ORDER BY id DESC`,
      ),

    lockToken: (owner: TokenOwner, slug: string) =>
      decodedOne(RotatableToken)(sql`
        SELECT id, name, scopes, created_at AS "createdAt", expires_at AS "expiresAt", revoked_at AS "revokedAt",
          rotated_to AS "rotatedTo"
        FROM credentials WHERE ${ofOwner(sql, owner)} AND slug = ${slug} FOR UPDATE`),
  }
}

/** The statements by which tokens end. */
const endings = (sql: PgClient.PgClient) => {
  const tokenColumns = sql.literal(TOKEN_COLUMNS)
  return {
    revokeToken: (owner: TokenOwner, slug: string, by: ActorReference, at: Date) =>
      record<AccessToken>()(sql`
        UPDATE credentials SET revoked_at = ${at}, revoked_by = ${sql.json(by)}
        WHERE ${ofOwner(sql, owner)} AND slug = ${slug} AND revoked_at IS NULL
        RETURNING ${tokenColumns}`),

    revokeTokensOf: (owner: TokenOwner, by: ActorReference, at: Date) =>
      records<AccessToken>()(sql`
        UPDATE credentials SET revoked_at = ${at}, revoked_by = ${sql.json(by)}
        WHERE ${ofOwner(sql, owner)} AND revoked_at IS NULL
        RETURNING ${tokenColumns}`),

    endRotated: (id: string, change: RotationEnd) =>
      record<AccessToken>()(sql`
        UPDATE credentials SET rotated_at = ${change.at}, rotated_to = ${change.successor}, ${
          "expiresAt" in change.end
            ? sql`expires_at = ${change.end.expiresAt}`
            : sql`revoked_at = ${change.at}, revoked_by = ${sql.json(change.end.revokedBy)}`
        }
        WHERE id = ${id}
        RETURNING ${tokenColumns}`),

    revokeChildren: (parentId: string, by: ActorReference, at: Date) =>
      decoded(MintedToken)(sql`
        UPDATE credentials SET revoked_at = ${at}, revoked_by = ${sql.json(by)}
        WHERE parent_id = ${parentId} AND revoked_at IS NULL
        RETURNING ${tokenColumns}, organization_id AS "organizationId"`),
  }
}

const writes = (sql: PgClient.PgClient) => ({
  insertCredential: (row: NewCredential) =>
    returnedRow(sql`
      INSERT INTO credentials (id, kind, organization_id, instance_id, instance_slug, owner_id, actor, parent_id, name, slug, scopes, lookup_hash,
        salt, verification_hash, pepper_id, last_four, expires_at, created_at, created_by)
      VALUES (${row.id}, ${row.confinedTo === null ? row.kind : "instance"}, ${row.organizationId},
        ${row.confinedTo?.id ?? null}, ${row.confinedTo?.slug ?? null}, ${row.owner.id}, ${sql.json(row.owner)},
        ${row.parentId}, ${row.name}, ${row.slug}, ${row.scopes}::text[], ${row.hashes.lookupHash}, ${row.hashes.salt},
        ${row.hashes.verificationHash}, ${row.hashes.pepperId}, ${row.hashes.lastFour}, ${row.expiresAt},
        ${row.createdAt}, ${sql.json(row.createdBy)})
      ON CONFLICT ON CONSTRAINT credentials_slug DO NOTHING
      RETURNING id`),

  renameActor: (owner: TokenOwner, actor: ActorReference) =>
    executed(sql`
      UPDATE credentials SET actor = ${sql.json(actor)} WHERE ${ofOwner(sql, owner)} AND revoked_at IS NULL`),

  storeLastUse: (uses: ReadonlyArray<readonly [id: string, at: Date]>) =>
    executed(sql`
      UPDATE credentials SET last_used_at = greatest(last_used_at, used.at)
      FROM unnest(${uses.map(([id]) => id)}::uuid[], ${uses.map(([, at]) => at.toISOString())}::timestamptz[])
        AS used (id, at)
      WHERE credentials.id = used.id`),
})

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const { ask } = yield* HotPath
  return { ...lookups(sql, ask), ...reads(sql), ...endings(sql), ...writes(sql) }
})
