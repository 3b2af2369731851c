/** SQL of offline bundles. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Option, Schema } from "effect"
import type { ActorReference } from "../../../kernel/contract/Caller.ts"
import type { Position } from "../../../kernel/contract/Page.ts"
import { decodedOne, decodedValue, executed, records } from "../../../kernel/database/Statements.ts"
import { Uuid } from "../../../kernel/values/Identifiers.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { InstanceSubject } from "../../instances/Model.ts"
import { subjects } from "../../instances/SubjectSql.ts"
import { OfflineBundle } from "./Model.ts"

const { allowances: _allowances, instance: _instance, ...bundleFields } = OfflineBundle.fields

/** A bundle as it is stored, without the slug of its instance. */
const BundleRow = Schema.Struct({ ...bundleFields, instanceId: Uuid })
export type BundleRow = typeof BundleRow.Type

/** A stored bundle with its signed text. */
const SignedRow = Schema.Struct({ ...BundleRow.fields, bundle: Schema.String })
type SignedRow = typeof SignedRow.Type

/** Above every sequence. */
const MAX_SEQUENCE = 2_147_483_647

/** Stores and reads offline bundles. */
export class BundlesRepo extends Context.Service<
  BundlesRepo,
  {
    /** Stores a bundle. Its sequence must be free. */
    readonly insert: (organizationId: OrganizationId, row: SignedRow) => Effect.Effect<void>
    /** A bundle of an instance, with its signed text. */
    readonly find: (
      organizationId: OrganizationId,
      instanceId: string,
      id: string,
    ) => Effect.Effect<Option.Option<SignedRow>>
    /** The bundle that was issued last. */
    readonly findNewest: (organizationId: OrganizationId, instanceId: string) => Effect.Effect<Option.Option<BundleRow>>
    /** The bundles of an instance after a position, newest first. */
    readonly list: (
      organizationId: OrganizationId,
      instanceId: string,
      after: Position | null,
      count: number,
    ) => Effect.Effect<ReadonlyArray<BundleRow>>
    /** When the last of a bundle and all before it expires. */
    readonly lastExpiry: (
      organizationId: OrganizationId,
      row: Pick<BundleRow, "instanceId" | "sequence">,
    ) => Effect.Effect<Date>
    /** Marks a bundle and the valid ones before it as revoked, unless they are. */
    readonly revokeUpTo: (
      organizationId: OrganizationId,
      row: Pick<BundleRow, "id" | "instanceId" | "sequence">,
      revocation: { readonly at: Date; readonly by: ActorReference },
    ) => Effect.Effect<void>
    /** What a bundle says about an instance besides its grants. */
    readonly findSubject: (
      organizationId: OrganizationId,
      instanceId: string,
    ) => Effect.Effect<Option.Option<InstanceSubject>>
  }
>()("keyshelf/offline/bundles/Repo") {
  static readonly layer = Layer.suspend(() => Layer.effect(BundlesRepo, make))
}

const expiresAtIn = decodedValue("expiresAt", Schema.Date)

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const columns =
    sql.literal(`id, instance_id AS "instanceId", sequence, kid AS "keyId", binding, issued_at AS "issuedAt",
    renew_at AS "renewAt", expires_at AS "expiresAt", usage_until AS "usageUntil", revoked_at AS "revokedAt",
    revoked_by AS "revokedBy", created_at AS "createdAt", created_by AS "createdBy"`)
  const ofInstance = (organizationId: OrganizationId, instanceId: string) =>
    sql`organization_id = ${organizationId} AND instance_id = ${instanceId}`

  return BundlesRepo.of({
    insert: (organizationId, { bundle, ...row }) =>
      executed(sql`
        INSERT INTO offline_bundles (organization_id, id, instance_id, sequence, kid, token, binding, issued_at, renew_at,
          expires_at, usage_until, created_at, created_by)
        VALUES (${organizationId}, ${row.id}, ${row.instanceId}, ${row.sequence}, ${row.keyId}, ${bundle},
          ${row.binding === null ? null : sql.json(row.binding)}, ${row.issuedAt}, ${row.renewAt}, ${row.expiresAt},
          ${row.usageUntil}, ${row.createdAt}, ${sql.json(row.createdBy)})`),

    find: (organizationId, instanceId, id) =>
      decodedOne(SignedRow)(sql`
        SELECT ${columns}, token AS bundle FROM offline_bundles
        WHERE ${ofInstance(organizationId, instanceId)} AND id = ${id}`),

    findNewest: (organizationId, instanceId) =>
      decodedOne(BundleRow)(sql`
        SELECT ${columns} FROM offline_bundles WHERE ${ofInstance(organizationId, instanceId)}
        ORDER BY sequence DESC LIMIT 1`),

    list: (organizationId, instanceId, after, count) =>
      records<BundleRow>()(sql`
        SELECT ${columns} FROM offline_bundles
        WHERE ${ofInstance(organizationId, instanceId)} AND sequence < ${after === null ? MAX_SEQUENCE : Number(after[0])}
        ORDER BY sequence DESC LIMIT ${count}`),

    lastExpiry: (organizationId, { instanceId, sequence }) =>
      Effect.map(
        expiresAtIn(sql`
          SELECT max(expires_at) AS "expiresAt" FROM offline_bundles
          WHERE ${ofInstance(organizationId, instanceId)} AND sequence <= ${sequence}`),
        Option.getOrThrow,
      ),

    revokeUpTo: (organizationId, row, { at, by }) =>
      executed(sql`
        UPDATE offline_bundles SET revoked_at = ${at}, revoked_by = ${sql.json(by)}
        WHERE ${ofInstance(organizationId, row.instanceId)} AND sequence <= ${row.sequence} AND revoked_at IS NULL
          AND (expires_at > ${at} OR id = ${row.id})`),

    findSubject: (organizationId, instanceId) =>
      decodedOne(InstanceSubject)(sql`
        ${subjects(sql)}
        WHERE i.organization_id = ${organizationId} AND i.id = ${instanceId}`),
  })
})
