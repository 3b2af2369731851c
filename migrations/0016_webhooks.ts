import { statements } from "./statements.ts"

export default statements(
  `CREATE TABLE webhook_endpoints (
    organization_id uuid NOT NULL REFERENCES organizations (id),
    id uuid NOT NULL,
    url text NOT NULL,
    event_names text[] NOT NULL,
    description text,
    -- Since when every delivery has failed; nothing after a success.
    failing_since timestamptz,
    disabled_at timestamptz,
    disabled_reason text,
    created_at timestamptz NOT NULL,
    created_by jsonb NOT NULL,
    updated_at timestamptz NOT NULL,
    updated_by jsonb NOT NULL,
    PRIMARY KEY (organization_id, id)
  )`,
  // Several during a rotation. The text is sealed with the installation's key.
  `CREATE TABLE webhook_secrets (
    organization_id uuid NOT NULL,
    endpoint_id uuid NOT NULL,
    id uuid NOT NULL,
    sealed text NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz,
    PRIMARY KEY (organization_id, endpoint_id, id),
    FOREIGN KEY (organization_id, endpoint_id) REFERENCES webhook_endpoints (organization_id, id) ON DELETE CASCADE
  )`,
  // Written with its event in the transaction of the change; deleted when the event has been handed to its deliveries.
  `CREATE TABLE webhook_outbox (
    organization_id uuid NOT NULL,
    event_id uuid NOT NULL,
    due_at timestamptz NOT NULL,
    claims smallint NOT NULL DEFAULT 0,
    PRIMARY KEY (organization_id, event_id)
  ) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000)`,
  `CREATE INDEX webhook_outbox_due ON webhook_outbox (due_at)`,
  // One row per endpoint with work. Whoever adds work lowers head_due_at in the same transaction.
  `CREATE TABLE webhook_lanes (
    organization_id uuid NOT NULL,
    endpoint_id uuid NOT NULL,
    head_due_at timestamptz NOT NULL,
    last_served_at timestamptz NOT NULL,
    PRIMARY KEY (organization_id, endpoint_id)
  ) WITH (fillfactor = 50)`,
  // A lane without work is at infinity, and in no claim's way.
  `CREATE INDEX webhook_lanes_served ON webhook_lanes (last_served_at) WHERE head_due_at < 'infinity'`,
  // What is still owed, and nothing else. due_at is the queue's only clock: a claim moves it to the end of its lease.
  // lease is the id of the attempt that is being made.
  `CREATE TABLE webhook_queue (
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    endpoint_id uuid NOT NULL,
    event_id uuid NOT NULL,
    event_name text NOT NULL,
    attempt smallint NOT NULL,
    due_at timestamptz NOT NULL,
    lease uuid,
    claimed_at timestamptz,
    claims smallint NOT NULL DEFAULT 0,
    PRIMARY KEY (organization_id, id)
  ) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
    autovacuum_vacuum_cost_delay = 0)`,
  `CREATE INDEX webhook_queue_due ON webhook_queue (organization_id, endpoint_id, due_at)`,
  `CREATE INDEX webhook_queue_leased ON webhook_queue (organization_id, endpoint_id) WHERE lease IS NOT NULL`,
  // The history: one row per attempt, a partition per day, created ahead and dropped when it is old.
  `CREATE TABLE webhook_attempts (
    organization_id uuid NOT NULL,
    "timestamp" timestamptz NOT NULL,
    id uuid NOT NULL,
    delivery_id uuid NOT NULL,
    event_id uuid NOT NULL,
    event_name text NOT NULL,
    endpoint_id uuid NOT NULL,
    endpoint_url text NOT NULL,
    attempt smallint NOT NULL,
    state text NOT NULL CHECK (state IN ('Success', 'Failure', 'Failed')),
    status_code smallint,
    response_body text,
    error text,
    duration_ms integer NOT NULL,
    next_attempt_at timestamptz,
    PRIMARY KEY (organization_id, "timestamp", id)
  ) PARTITION BY RANGE ("timestamp")`,
  // What is looked for besides stands in the index, so that an endpoint's attempts are sifted without reading them.
  `CREATE INDEX webhook_attempts_endpoint ON webhook_attempts (organization_id, endpoint_id, "timestamp", id)
    INCLUDE (state, event_name)`,
  `CREATE INDEX webhook_attempts_event_name ON webhook_attempts (organization_id, event_name, "timestamp", id)`,
  `CREATE INDEX webhook_attempts_event ON webhook_attempts (organization_id, event_id, "timestamp", id)`,
  `CREATE INDEX webhook_attempts_failure ON webhook_attempts (organization_id, state, "timestamp", id)
    WHERE state <> 'Success'`,
  // The failures of one endpoint, among many of others; also what its end has to finish.
  `CREATE INDEX webhook_attempts_endpoint_failure ON webhook_attempts
    (organization_id, endpoint_id, state, "timestamp", id) WHERE state <> 'Success'`,
  `CREATE INDEX webhook_attempts_delivery ON webhook_attempts (organization_id, delivery_id)`,
)
