/** SQL statements for service accounts and credentials. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Schema } from "effect"
import type { ActorReference, Confinement } from "../../kernel/contract/Caller.ts"
import { idBefore } from "../../kernel/contract/Page.ts"
import type { Position } from "../../kernel/contract/Page.ts"
import { HotPath } from "../../kernel/database/Connections.ts"
import { isRemoved } from "../../kernel/database/RemovedOrganizations.ts"
import { rowByKey } from "../../kernel/database/RowsByKey.ts"
import { inEachOrganization } from "../../kernel/database/DueOrganizations.ts"
import { decoded, decodedOne, advisoryLock, record, records, returnedRow } from "../../kernel/database/Statements.ts"
import { RotatableToken, StoredCredential } from "./Model.ts"
import type { AccessToken, CredentialKind, ServiceAccount, TokenHashes } from "./Model.ts"
import type { Option } from "effect"

/** A credential to store. */
export interface NewCredential {
  readonly id: string
  readonly kind: CredentialKind
  readonly organizationId: string | null
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
export interface TokenOwner {
  readonly organizationId: string | null
  readonly ownerId: string
}

/** An expired token with its organization and, unless the operator minted it, its service account or instance. */
export interface ExpiredToken extends AccessToken {
  readonly organizationId: string
  readonly serviceAccountSlug: string | null
  readonly instanceSlug: string | null
}

/** Stores service accounts and credentials. */
export class AccessRepo extends Context.Service<
  AccessRepo,
  {
    /** ??? */
    readonly findByLookupHashes: (hashes: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<StoredCredential>>
    /** ??? */
    readonly findByIds: (ids: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<StoredCredential>>
    /** Reads what a credential says about itself. */
    readonly findCredential: (
      id: string,
    ) => Effect.Effect<Option.Option<Pick<AccessToken, "id" | "name" | "slug" | "scopes" | "expiresAt">>>
    /** ??? */
    readonly lockForShare: (id: string) => Effect.Effect<Option.Option<StoredCredential>>
    /** ??? */
    readonly insertCredential: (row: NewCredential) => Effect.Effect<boolean>
    /** ??? */
    readonly findToken: (owner: TokenOwner, slug: string) => Effect.Effect<Option.Option<AccessToken>>
    /** ??? */
    readonly listTokens: (
      owner: TokenOwner,
      after: Position | null,
      count: number,
    ) => Effect.Effect<ReadonlyArray<AccessToken>>
    /** Reads all tokens of an owner. */
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
    readonly endRotated: (
      id: string,
      change: {
        readonly successor: string
        readonly at: Date
        readonly end:
          | {
              readonly expiresAt: Date
            }
          | {
              readonly revokedBy: ActorReference
            }
      },
    ) => Effect.Effect<Option.Option<AccessToken>>
    /**
     * Revokes the live tokens that a platform credential minted. As a separate statement it sees the child of a mint
     * that held the parent's lock.
     */
    readonly revokeChildren: (
      parentId: string,
      by: ActorReference,
      at: Date,
    ) => Effect.Effect<
      ReadonlyArray<
        AccessToken & {
          readonly organizationId: string
        }
      >
    >
    /** Locks the bootstrap until the transaction ends, so that starting processes create one credential. */
    readonly lockBootstrap: Effect.Effect<void>
    /** ??? */
    readonly platformCredentialExists: Effect.Effect<boolean>
    /** Stores the latest use of each token. A later use from another node is not overwritten. */
    readonly storeLastUse: (uses: ReadonlyArray<readonly [id: string, at: Date]>) => Effect.Effect<void>
    /**
     * Claims up to `count` expired organization tokens for their event, oldest first. Skips rows locked by other nodes.
     * The accounts are read afterwards, because a cluster keeps them elsewhere.
     */
    readonly claimExpired: (at: Date, count: number) => Effect.Effect<ExpiredToken[]>
    /**
     * Deletes credentials that ended before an instant and returns their number. A platform credential is retained as
     * long as any token that it minted, an expired token until its event was emitted.
     */
    readonly deleteRetired: (kind: StoredCredential["kind"], before: Date, count: number) => Effect.Effect<number>
    /** ??? */
    readonly insertServiceAccount: (
      organizationId: string,
      row: {
        readonly id: string
        readonly name: string
        readonly slug: string
        readonly createdAt: Date
        readonly createdBy: ActorReference
      },
    ) => Effect.Effect<boolean>
    /** ??? */
    readonly findServiceAccount: (
      organizationId: string,
      slug: string,
    ) => Effect.Effect<Option.Option<Omit<ServiceAccount, "tokens">>>
    /** ??? */
    readonly lockServiceAccount: (
      organizationId: string,
      slug: string,
    ) => Effect.Effect<Option.Option<Omit<ServiceAccount, "tokens">>>
    /** ??? */
    readonly lockServiceAccountForShare: (
      organizationId: string,
      slug: string,
    ) => Effect.Effect<Option.Option<Omit<ServiceAccount, "tokens">>>
    /** ??? */
    readonly updateServiceAccount: (organizationId: string, row: Omit<ServiceAccount, "tokens">) => Effect.Effect<void>
    /** ??? */
    readonly deleteServiceAccount: (organizationId: string, id: string) => Effect.Effect<void>
    /** ??? */
    readonly listServiceAccounts: (
      organizationId: string,
      after: Position | null,
      count: number,
    ) => Effect.Effect<ReadonlyArray<ServiceAccount>>
  }
>()("keyshelf/access/Repo") {
  static readonly layer = Layer.effect(
    AccessRepo,
    Effect.suspend(() => make),
  )
}

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const { ask } = yield* HotPath
  const tokenColumns = sql.literal(`id, name, slug, scopes, last_four AS "lastFour", expires_at AS "expiresAt",
    last_used_at AS "lastUsedAt", revoked_at AS "revokedAt", revoked_by AS "revokedBy",
    created_at AS "createdAt", created_by AS "createdBy"`)
  const accountColumns = sql.literal(`id, name, slug, external_id AS "externalId", created_at AS "createdAt",
    created_by AS "createdBy"`)
  const storedColumns = sql.literal(`id, kind, organization_id AS "organizationId", instance_id AS "instanceId",
    instance_slug AS "instanceSlug", actor, scopes,
    lookup_hash AS "lookupHash", salt, verification_hash AS "verificationHash", pepper_id AS "pepperId",
    expires_at AS "expiresAt", revoked_at AS "revokedAt"`)
  // Credentials of a removed organization do not exist, although their rows are deleted later.
  const isUsable = sql.literal(`NOT ${isRemoved("credentials.organization_id")}`)
  const storedRow = decodedOne(StoredCredential)
  const ownedBy = (owner: TokenOwner) =>
    sql`organization_id IS NOT DISTINCT FROM ${owner.organizationId}::uuid AND owner_id = ${owner.ownerId}`

  return {
    // On the hot path of every request: one query serves all waiting look-ups, and its rows are not decoded.
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
      record<Pick<AccessToken, "id" | "slug" | "name" | "scopes" | "expiresAt">>()(sql`
        SELECT id, slug, name, scopes, expires_at AS "expiresAt" FROM credentials WHERE id = ${id}`),

    lockForShare: (id: string) => storedRow(sql`SELECT ${storedColumns} FROM credentials WHERE id = ${id} FOR SHARE`),

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

    findToken: (owner: TokenOwner, slug: string) =>
      record<AccessToken>()(sql`SELECT ${tokenColumns} FROM credentials WHERE ${ownedBy(owner)} AND slug = ${slug}`),

    listTokens: (owner: TokenOwner, after: Position | null, count: number) =>
      records<AccessToken>()(sql`
        SELECT ${tokenColumns} FROM credentials
        WHERE ${ownedBy(owner)} AND id < ${idBefore(after)}
        ORDER BY id DESC LIMIT ${count}`),

    tokensOf: (owner: TokenOwner) =>
      records<AccessToken>()(sql`SELECT ${tokenColumns} FROM credentials WHERE ${ownedBy(owner)} ORDER BY id DESC`),

    revokeToken: (owner: TokenOwner, slug: string, by: ActorReference, at: Date) =>
      record<AccessToken>()(sql`
        UPDATE credentials SET revoked_at = ${at}, revoked_by = ${sql.json(by)}
        WHERE ${ownedBy(owner)} AND slug = ${slug} AND revoked_at IS NULL
        RETURNING ${tokenColumns}`),

    revokeTokensOf: (owner: TokenOwner, by: ActorReference, at: Date) =>
      records<AccessToken>()(sql`
        UPDATE credentials SET revoked_at = ${at}, revoked_by = ${sql.json(by)}
        WHERE ${ownedBy(owner)} AND revoked_at IS NULL
        RETURNING ${tokenColumns}`),

    renameActor: (owner: TokenOwner, actor: ActorReference) =>
      Effect.asVoid(
        Effect.orDie(sql`
          UPDATE credentials SET actor = ${sql.json(actor)} WHERE ${ownedBy(owner)} AND revoked_at IS NULL`),
      ),

    lockToken: (owner: TokenOwner, slug: string) =>
      decodedOne(RotatableToken)(sql`
        SELECT id, name, scopes, created_at AS "createdAt", expires_at AS "expiresAt", revoked_at AS "revokedAt",
          rotated_to AS "rotatedTo"
        FROM credentials WHERE ${ownedBy(owner)} AND slug = ${slug} FOR UPDATE`),

    endRotated: (
      id: string,
      change: {
        readonly successor: string
        readonly at: Date
        readonly end: { readonly expiresAt: Date } | { readonly revokedBy: ActorReference }
      },
    ) =>
      record<AccessToken>()(sql`
        UPDATE credentials SET rotated_at = ${change.at}, rotated_to = ${change.successor}, ${
          "expiresAt" in change.end
            ? sql`expires_at = ${change.end.expiresAt}`
            : sql`revoked_at = ${change.at}, revoked_by = ${sql.json(change.end.revokedBy)}`
        }
        WHERE id = ${id}
        RETURNING ${tokenColumns}`),

    revokeChildren: (parentId: string, by: ActorReference, at: Date) =>
      records<AccessToken & { readonly organizationId: string }>()(sql`
        UPDATE credentials SET revoked_at = ${at}, revoked_by = ${sql.json(by)}
        WHERE parent_id = ${parentId} AND revoked_at IS NULL
        RETURNING ${tokenColumns}, organization_id AS "organizationId"`),

    lockBootstrap: advisoryLock(sql, "credentials.bootstrap"),

    platformCredentialExists: Effect.map(
      decoded(Schema.Struct({ found: Schema.Boolean }))(
        sql`SELECT EXISTS (SELECT 1 FROM credentials WHERE kind = 'platform') AS found`,
      ),
      (rows) => rows[0]?.found === true,
    ),

    storeLastUse: (uses: ReadonlyArray<readonly [id: string, at: Date]>) =>
      Effect.asVoid(
        Effect.orDie(sql`
          UPDATE credentials SET last_used_at = greatest(last_used_at, used.at)
          FROM unnest(${uses.map(([id]) => id)}::uuid[], ${uses.map(([, at]) => at.toISOString())}::timestamptz[])
            AS used (id, at)
          WHERE credentials.id = used.id`),
      ),

    claimExpired: Effect.fnUntraced(function* (at: Date, count: number) {
      const expired = yield* records<Omit<ExpiredToken, "serviceAccountSlug"> & { readonly ownerId: string }>()(sql`
        UPDATE credentials SET expiry_told_at = ${at}
        WHERE ctid = ANY (ARRAY (
          SELECT ctid FROM credentials
          WHERE kind <> 'platform' AND expires_at <= ${at} AND revoked_at IS NULL AND expiry_told_at IS NULL
            AND ${isUsable}
          ORDER BY expires_at LIMIT ${count} FOR UPDATE SKIP LOCKED))
        RETURNING ${tokenColumns}, organization_id AS "organizationId", instance_slug AS "instanceSlug",
          owner_id AS "ownerId"`)
      const accounts = yield* inEachOrganization(
        expired,
        (row) => row.organizationId,
        (organizationId, tokens) =>
          records<{ readonly id: string; readonly slug: string }>()(sql`
            SELECT account.id, account.slug FROM unnest(${[...new Set(tokens.map(({ ownerId }) => ownerId))]}::uuid[]) AS owner (id)
            CROSS JOIN ${rowByKey(sql, "id, slug", {
              table: "service_accounts",
              within: sql`organization_id = ${organizationId}`,
              column: "id",
              key: "owner.id",
            })} AS account`),
      )
      const owners = new Map(accounts.map(({ id, slug }) => [id, slug]))
      return expired.map(({ ownerId, ...token }): ExpiredToken => ({
        ...token,
        serviceAccountSlug: owners.get(ownerId) ?? null,
      }))
    }),

    deleteRetired: (kind: StoredCredential["kind"], before: Date, count: number) =>
      Effect.map(
        Effect.orDie(sql`
          DELETE FROM credentials WHERE ctid = ANY (ARRAY (
            SELECT ctid FROM credentials retired
            WHERE kind = ${kind} AND least(revoked_at, expires_at) <= ${before}
              AND (revoked_at IS NOT NULL OR expires_at IS NOT NULL)
              AND (kind = 'platform' OR revoked_at IS NOT NULL OR expiry_told_at IS NOT NULL)
              AND NOT EXISTS (SELECT 1 FROM credentials child WHERE child.parent_id = retired.id)
            ORDER BY least(revoked_at, expires_at) LIMIT ${count} FOR UPDATE SKIP LOCKED)) RETURNING id`),
        (rows) => rows.length,
      ),

    insertServiceAccount: (
      organizationId: string,
      row: { id: string; name: string; slug: string; createdAt: Date; createdBy: ActorReference },
    ) =>
      returnedRow(sql`
        INSERT INTO service_accounts (organization_id, id, name, slug, created_at, created_by)
        VALUES (${organizationId}, ${row.id}, ${row.name}, ${row.slug}, ${row.createdAt},
          ${sql.json(row.createdBy)})
        ON CONFLICT ON CONSTRAINT service_accounts_slug DO NOTHING
        RETURNING id`),

    findServiceAccount: (organizationId: string, slug: string) =>
      record<Omit<ServiceAccount, "tokens">>()(sql`
        SELECT ${accountColumns} FROM service_accounts WHERE organization_id = ${organizationId} AND slug = ${slug}`),

    lockServiceAccount: (organizationId: string, slug: string) =>
      record<Omit<ServiceAccount, "tokens">>()(sql`
        SELECT ${accountColumns} FROM service_accounts
        WHERE organization_id = ${organizationId} AND slug = ${slug} FOR UPDATE`),

    lockServiceAccountForShare: (organizationId: string, slug: string) =>
      record<Omit<ServiceAccount, "tokens">>()(sql`
        SELECT ${accountColumns} FROM service_accounts
        WHERE organization_id = ${organizationId} AND slug = ${slug} FOR SHARE`),

    updateServiceAccount: (organizationId: string, row: Omit<ServiceAccount, "tokens">) =>
      Effect.asVoid(
        Effect.orDie(sql`
          UPDATE service_accounts SET name = ${row.name}, external_id = ${row.externalId}
          WHERE organization_id = ${organizationId} AND id = ${row.id}`),
      ),

    deleteServiceAccount: (organizationId: string, id: string) =>
      Effect.asVoid(
        Effect.orDie(sql`DELETE FROM service_accounts WHERE organization_id = ${organizationId} AND id = ${id}`),
      ),

    listServiceAccounts: (organizationId: string, after: Position | null, count: number) =>
      records<ServiceAccount>()(sql`
        SELECT ${accountColumns}, NULL AS tokens FROM service_accounts
        WHERE organization_id = ${organizationId}
          AND id < ${idBefore(after)}
        ORDER BY id DESC LIMIT ${count}`),
  }
})
