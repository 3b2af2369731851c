/** SQL fragments of overrides, for what decides by them. */
import type { SqlClient } from "effect/sql/SqlClient"
import type { Fragment } from "effect/sql/Statement"

/** The override `o` as `AppliedOverride`. */
export const appliedOverride = `jsonb_build_object('mode', o.mode,
    'value', CASE jsonb_typeof(o.value) WHEN 'number' THEN to_jsonb(o.value #>> '{}') ELSE o.value END,
    'overagePercent', o.overage_percent, 'startsAt', o.starts_at, 'endsAt', o.ends_at, 'reason', o.reason,
    'by', o.created_by, 'at', o.created_at)`

/** The current override of the entitlement `e` on the instance `i`, as `AppliedOverride`; `null` if there is none. */
export const currentOverride = `i.overrides -> e.id::text AS override`

/** The override `override` that was in force on the instance `i` for the entitlement `e` at `asked.at`. */
export const pastOverrideJoin = (sql: SqlClient, organization: Fragment): Fragment => sql`LEFT JOIN LATERAL (
      SELECT ${sql.literal(appliedOverride)} AS override FROM entitlement_overrides o
      WHERE o.organization_id = ${organization} AND o.instance_id = i.id AND o.entitlement_id = e.id
        AND o.starts_at <= asked.at AND (o.ends_at IS NULL OR o.ends_at > asked.at)
        AND (o.ended_at IS NULL OR o.ended_at > asked.at)
      LIMIT 1
    ) overridden ON true`

/** Whether an override of the entitlement `e` on the instance `i` is in force at `asked.at`. */
export const isOverridden = `(i.overrides ? e.id::text AND (i.overrides -> e.id::text ->> 'startsAt')::timestamptz <= asked.at
    AND coalesce((i.overrides -> e.id::text ->> 'endsAt')::timestamptz > asked.at, true))`
