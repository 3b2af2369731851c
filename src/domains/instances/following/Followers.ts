/** What streams of changes need to know of instances and credentials. */
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer, Schema } from "effect"
import { inEachOrganization } from "../../../kernel/database/DueOrganizations.ts"
import { decoded } from "../../../kernel/database/Statements.ts"
import { liveTokens } from "../../access/tokens/TokensSql.ts"
import { Followers } from "../../events/changes/Followers.ts"
import type { CredentialState } from "../../events/changes/Model.ts"
import { liveMemberships } from "../../people/PeopleSql.ts"
import { InstanceSubject } from "../Model.ts"
import { subjects } from "../SubjectSql.ts"

/** A live credential; it expires in milliseconds since 1970. */
const StateRow = Schema.Struct({ id: Schema.String, expiresAt: Schema.NullOr(Schema.Finite) })

const followers = Effect.map(PgClient.PgClient, (sql) =>
  Followers.of({
    assignments: (names) =>
      inEachOrganization(
        names,
        ({ organizationId }) => organizationId,
        (organizationId, own) =>
          Effect.map(
            decoded(InstanceSubject)(sql`
              ${subjects(sql)}
              WHERE i.organization_id = ${organizationId} AND i.slug = ANY(${own.map(({ slug }) => slug)}::text[])`),
            (found) =>
              found.map(({ customer, license, slug, zone }) => ({
                organizationId,
                slug,
                license: license.slug,
                customer: customer.slug,
                zone: zone?.slug ?? null,
              })),
          ),
      ),

    live: Effect.fnUntraced(function* (credentials) {
      const tokens = credentials.filter(({ kind }) => kind === "token").map(({ id }) => id)
      const people = credentials.filter(({ kind }) => kind === "membership")
      const rows = [
        ...(tokens.length === 0 ? [] : yield* decoded(StateRow)(sql`${liveTokens(sql, tokens)}`)),
        ...(yield* inEachOrganization(
          people,
          ({ organizationId }) => organizationId,
          (organizationId, own) =>
            decoded(StateRow)(
              sql`${liveMemberships(
                sql,
                organizationId,
                own.map(({ id }) => id),
              )}`,
            ),
        )),
      ]
      return rows.map(({ expiresAt, id }): CredentialState => ({ id, expiresAt: expiresAt ?? Infinity }))
    }),
  }),
)

export const layer = Layer.effect(Followers, followers)
