/** Runs the same statements by `pgbench`, where it is installed: the upper bound. */
import { spawnSync } from "node:child_process"
import { mkdtempSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** Whether `pgbench` is installed. */
export const available = spawnSync("pgbench", ["--version"]).status === 0

const organization = (n: string) => `md5('o' || ${n})::uuid`

const scripts: Record<string, (customers: number) => string> = {
  // Looks up the credential, then the customer with its integration records.
  customer: (customers) => `\\set c random(1, ${customers})
SELECT id, kind, organization_id, actor, scopes, salt, verification_hash, expires_at, revoked_at FROM credentials
  WHERE lookup_hash = sha256('unknown');
SELECT id, name, slug, domain, external_customer_id, (
    SELECT coalesce(jsonb_object_agg(r.connector, r.external_id), '{}') FROM integration_records r
    WHERE r.organization_id = customers.organization_id AND r.resource_id = customers.id AND r.kind = 'CUSTOMER'
  ), created_at, updated_at, created_by, updated_by
  FROM customers WHERE organization_id = ${organization("1")} AND slug = 'customer-' || :c;
`,
  component: () => `SELECT 1 FROM credentials WHERE lookup_hash = sha256('unknown');
WITH component AS (
  INSERT INTO components (organization_id, id, name, version, slug, created_at, created_by)
  SELECT ${organization("1")}, id, 'part', '1', 'part-' || id, now(), '{}'::jsonb FROM (SELECT gen_random_uuid() AS id) new
  RETURNING organization_id, id, created_at
), event AS (
  INSERT INTO events (organization_id, id, type, occurred_at, actor, data)
  SELECT organization_id, id, 'COMPONENT_CREATED', created_at, '{}', '{"name":"part","version":"1"}' FROM component
)
INSERT INTO webhook_outbox (organization_id, event_id, due_at) SELECT organization_id, id, created_at FROM component
  WHERE EXISTS (SELECT 1 FROM webhook_endpoints WHERE organization_id = ${organization("1")} AND disabled_at IS NULL);
`,
  hot: () => `UPDATE usage_totals SET value = value + 1, event_count = event_count + 1 WHERE organization_id = ${organization("1")}
  AND instance_id = md5('i1-1')::uuid AND entitlement_id = md5('e1-1')::uuid
  AND period_start = date_trunc('month', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC';
`,
}

const directory = mkdtempSync(join(tmpdir(), "keyshelf-pgbench-"))

/** Runs a script by eight clients with prepared statements. Counts transactions per second. */
export const burst = (url: string, script: string, seconds: number, customers: number) => {
  const file = join(directory, `${script}.sql`)
  writeFileSync(file, scripts[script]?.(customers) ?? "")
  const { stdout, stderr, status } = spawnSync(
    "pgbench",
    ["-n", "-M", "prepared", "-c", "8", "-j", "1", "-T", String(seconds), "-f", file, url],
    { encoding: "utf8" },
  )
  const rate = /tps = ([\d.]+)/.exec(stdout)
  if (status !== 0 || rate === null) throw new Error(`pgbench: ${stderr}`)
  const average = Number(/latency average = ([\d.]+)/.exec(stdout)?.[1] ?? 0)
  return { perSecond: Number(rate[1]), p50: average, p99: Number.NaN, failures: 0 }
}
