/**
 * The operations of the comparators, as an expert would write them with `pg`: the same authentication, SQL results and JSON as
 * Keyshelf. The sibling files contain the servers.
 */
import { createHash, createHmac, generateKeyPairSync, randomBytes, timingSafeEqual } from "node:crypto"
import { SignJWT } from "jose"
import { Pool } from "pg"
import { CHECK, checkResponse } from "./check.mjs"
import { usage } from "./usage.mjs"

const CUSTOMER = `SELECT id, name, slug, domain, external_customer_id AS "externalCustomerId", (
    SELECT coalesce(jsonb_object_agg(r.connector, jsonb_build_object('external_id', r.external_id, 'last_error', r.last_error,
      'metadata', r.metadata, 'synced_at', to_char(r.synced_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
      'web_url', r.web_url)), '{}')
    FROM integration_records r
    WHERE r.organization_id = customers.organization_id AND r.resource_id = customers.id AND r.kind = 'CUSTOMER'
  ) AS integrations, created_at AS "createdAt", updated_at AS "updatedAt", created_by AS "createdBy", updated_by AS "updatedBy"
  FROM customers WHERE organization_id = $1 AND slug = $2`

const ENTITLEMENTS = `SELECT e.id, e.slug, e.name, e.description, e.type, e.aggregation_method AS "aggregationMethod",
    e.reset_period AS "resetPeriod", e.reset_anchor AS "resetAnchor", e.unit_singular AS "unitSingular",
    e.unit_plural AS "unitPlural", e.sale_unit_factor AS "saleUnitFactor", e.sale_unit_singular AS "saleUnitSingular",
    e.sale_unit_plural AS "saleUnitPlural", e.display_order AS "displayOrder", e.icon, e.user_facing AS "userFacing",
    e.warning_threshold_percent AS "warningThresholdPercent", coalesce(g.groups, '[]') AS "entitlementGroups",
    e.created_at AS "createdAt", e.updated_at AS "updatedAt", e.created_by AS "createdBy", e.updated_by AS "updatedBy"
  FROM entitlements e
  LEFT JOIN LATERAL (
    SELECT jsonb_agg(jsonb_build_object('id', gr.id, 'name', gr.name, 'slug', gr.slug) ORDER BY gr.slug) AS groups
    FROM entitlement_group_members m
    JOIN entitlement_groups gr ON gr.organization_id = m.organization_id AND gr.id = m.group_id
    WHERE m.organization_id = e.organization_id AND m.entitlement_id = e.id
  ) g ON true
  WHERE e.organization_id = $1 AND (e.display_order, e.id) > ($2, $3) ORDER BY e.display_order, e.id LIMIT $4`

const CREDENTIAL = `SELECT id, kind, organization_id AS "organizationId", actor, scopes, salt,
  verification_hash AS "verificationHash", expires_at AS "expiresAt", revoked_at AS "revokedAt"
  FROM credentials WHERE lookup_hash = $1`

const MANIFEST = `SELECT key, name, description, type, metadata -> 'fallback_value' AS fallback FROM feature_flags
  WHERE organization_id = $1 AND metadata ->> 'fallback_value' IS NOT NULL ORDER BY key`

const COMPONENT = `INSERT INTO components (organization_id, id, name, version, slug, description, previous_component_id,
    created_at, created_by) VALUES ($1, $2, $3, $4, $5, $6, NULL, $7, $8)`
const EVENT = `INSERT INTO events (organization_id, id, type, occurred_at, actor, data)
  VALUES ($1, $2, 'COMPONENT_CREATED', $3, $4, $5)`
const SUBSCRIBED = `EXISTS (SELECT 1 FROM webhook_endpoints WHERE organization_id = $1 AND disabled_at IS NULL)`
const OUTBOX = `INSERT INTO webhook_outbox (organization_id, event_id, due_at)
  SELECT $1::uuid, $2::uuid, $3::timestamptz WHERE ${SUBSCRIBED}`
const COMPONENT_WITH_EVENT = `WITH component AS (${COMPONENT}), event AS (
    INSERT INTO events (organization_id, id, type, occurred_at, actor, data)
    VALUES ($1, $9, 'COMPONENT_CREATED', $7, $8, $10))
  INSERT INTO webhook_outbox (organization_id, event_id, due_at)
  SELECT $1::uuid, $9::uuid, $7::timestamptz WHERE ${SUBSCRIBED}`

const uuidV7 = () => {
  const bytes = randomBytes(16)
  bytes.writeUIntBE(Date.now(), 0, 6)
  bytes[6] = 0x70 | (bytes[6] & 0x0f)
  bytes[8] = 0x80 | (bytes[8] & 0x3f)
  const hex = bytes.toString("hex")
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

const slugify = (text) =>
  text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")

const oneLine = (text) => text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, " ").trim()

const allows = (held, needed) => {
  const [verb, module] = needed.split(":")
  return held.some((scope) => {
    const [v, m] = scope.split(":")
    return (m === "*" || m === module) && (v === verb || (v === "write" && verb === "read"))
  })
}

/** @param {{ url: string, pepper: Buffer, named: boolean, poolSize: number }} options */
export const operations = ({ named, pepper, poolSize, url }) => {
  const pool = new Pool({ connectionString: url, max: poolSize, options: "-c timezone=UTC" })
  const statement = (name, text) => (values) => (named ? { name, text, values } : { text, values })
  const findCredential = statement("credential", CREDENTIAL)
  const findCustomer = statement("customer", CUSTOMER)
  const findForCheck = statement("check", CHECK)
  const listEntitlements = statement("entitlements", ENTITLEMENTS)
  const insertComponent = statement("component", COMPONENT)
  const insertEvent = statement("event", EVENT)
  const insertOutbox = statement("outbox", OUTBOX)
  const insertWhole = statement("component-with-event", COMPONENT_WITH_EVENT)
  const listForManifest = statement("manifest", MANIFEST)
  const { privateKey } = generateKeyPairSync("ed25519")

  /** Returns the credential's row, or `undefined` if the token is invalid or lacks the scope. */
  const authenticate = async (header, scope) => {
    const token = header?.startsWith("Bearer ") ? header.slice(7) : ""
    const { rows } = await pool.query(findCredential([createHash("sha256").update(token).digest()]))
    const row = rows[0]
    if (row === undefined) return undefined
    const hash = createHmac("sha256", pepper).update(row.salt).update(token).digest()
    if (!timingSafeEqual(hash, row.verificationHash) || row.revokedAt !== null) return undefined
    if (row.expiresAt !== null && row.expiresAt.getTime() <= Date.now()) return undefined
    return row.kind === "organization" && allows(row.scopes, scope) ? row : undefined
  }

  return {
    authenticate,
    close: () => pool.end(),

    customer: async ({ organizationId }, slug) => (await pool.query(findCustomer([organizationId, slug]))).rows[0],

    check: async ({ organizationId }, instance, { checks }) => {
      const at = new Date()
      const slugs = checks.map(({ entitlement }) => entitlement)
      const { rows } = await pool.query(findForCheck([organizationId, instance, at, slugs]))
      return checkResponse(rows, checks, at)
    },

    ...usage(pool, statement),

    /** Issues the internal token that a gateway gets for the caller's, valid for 30 seconds. */
    exchange: ({ id }) => {
      const issuedAt = Math.floor(Date.now() / 1000)
      return new SignJWT()
        .setProtectedHeader({ typ: "keyshelf-gateway+jwt", alg: "EdDSA", kid: "default" })
        .setIssuer("urn:keyshelf:token-validation")
        .setAudience("urn:keyshelf:core-api")
        .setSubject(id)
        .setIssuedAt(issuedAt)
        .setExpirationTime(issuedAt + 30)
        .sign(privateKey)
    },

    /** Returns the text of the manifest and its ETag. */
    manifest: async ({ organizationId }) => {
      const { rows } = await pool.query(listForManifest([organizationId]))
      const flags = rows.map(({ description, fallback, key, name, type }) => ({
        key,
        name: oneLine(name) || key,
        description: oneLine(description ?? ""),
        type,
        defaultValue: fallback,
      }))
      const text = JSON.stringify({ flags })
      return { text, etag: `"${createHash("sha256").update(text).digest("base64url")}"` }
    },

    entitlements: async ({ organizationId }, limit) => {
      const { rows } = await pool.query(
        listEntitlements([organizationId, -2147483648, "00000000-0000-0000-0000-000000000000", limit + 1]),
      )
      const items = rows
        .slice(0, limit)
        .map((row) => ({ ...row, groupSlugs: row.entitlementGroups.map((g) => g.slug) }))
      const last = items.at(-1)
      const hasMore = rows.length > limit
      const position = Buffer.from(JSON.stringify([organizationId, last.displayOrder, last.id])).toString("base64url")
      const seal = createHmac("sha256", pepper).update(position).digest("base64url")
      return { items, hasMore, nextCursor: hasMore ? `${position}.${seal}` : "" }
    },

    /** Inserts the component, its event and its outbox row: in one statement, or between BEGIN and COMMIT. */
    createComponent: async ({ actor, organizationId }, { description = null, name, version }, singleStatement) => {
      const at = new Date()
      const component = {
        id: uuidV7(),
        name,
        version,
        description,
        previousComponentId: null,
        createdAt: at,
        createdBy: actor,
      }
      const eventId = uuidV7()
      const slug = slugify(`${name}-${version}`)
      const record = { ...component, slug }
      const row = [organizationId, component.id, name, version, slug, description, at, actor]
      if (singleStatement) {
        await pool.query(insertWhole([...row, eventId, JSON.stringify(record)]))
        return record
      }
      const client = await pool.connect()
      try {
        await client.query("BEGIN")
        await client.query(insertComponent(row))
        await client.query(insertEvent([organizationId, eventId, at, actor, JSON.stringify(record)]))
        await client.query(insertOutbox([organizationId, eventId, at]))
        await client.query("COMMIT")
        return record
      } catch (error) {
        await client.query("ROLLBACK")
        throw error
      } finally {
        client.release()
      }
    },
  }
}

/** Reads the options that the benchmark passes to a comparator's process. */
export const optionsFromEnvironment = () => ({
  url: process.env.BENCH_DATABASE_URL,
  pepper: Buffer.from(process.env.BENCH_PEPPER, "hex"),
  named: process.env.BENCH_NAMED !== "false",
  poolSize: Number(process.env.BENCH_POOL_SIZE ?? 8),
})
