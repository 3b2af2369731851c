import { searchIndexes, table } from "../statements.ts"

const instanceTables: ReadonlyArray<string> = [
  // `grace_days`: its own days of grace; if null, those of the license version. `overrides` repeats its current
  // overrides, by the id of their entitlement, so that a check reads them with the instance. `offline_sequence`: the
  // sequence of its last offline bundle. `allowances_until`: the latest `open_until` of its allowances. A check reads
  // allowances only of instances that have one.
  ...table(
    "instances",
    "A license in use by a customer. Grows with each instance.",
    `
    organization_id uuid NOT NULL REFERENCES organizations (id),
    id uuid NOT NULL,
    name text NOT NULL,
    slug text NOT NULL,
    description text,
    customer_id uuid NOT NULL,
    license_id uuid NOT NULL,
    deployment_zone_id uuid,
    start_license_date timestamptz NOT NULL,
    end_license_date timestamptz CHECK (end_license_date > start_license_date),
    grace_days smallint,
    metadata jsonb NOT NULL,
    overrides jsonb,
    offline_sequence integer NOT NULL DEFAULT 0,
    allowances_until timestamptz,
    created_at timestamptz NOT NULL,
    created_by jsonb NOT NULL,
    updated_at timestamptz NOT NULL,
    updated_by jsonb NOT NULL,
    PRIMARY KEY (organization_id, id),
    CONSTRAINT instances_slug UNIQUE (organization_id, slug),
    FOREIGN KEY (organization_id, customer_id) REFERENCES customers (organization_id, id),
    FOREIGN KEY (organization_id, license_id) REFERENCES licenses (organization_id, id),
    FOREIGN KEY (organization_id, deployment_zone_id) REFERENCES deployment_zones (organization_id, id)
  `,
  ),
  `CREATE INDEX instances_customer ON instances (organization_id, customer_id, id)`,
  `CREATE INDEX instances_license ON instances (organization_id, license_id, id)`,
  `CREATE INDEX instances_zone ON instances (organization_id, deployment_zone_id, id)`,
  ...searchIndexes("instances"),
  `CREATE INDEX instances_start ON instances (organization_id, start_license_date, id) INCLUDE (end_license_date)`,
  `CREATE INDEX instances_end ON instances (organization_id, end_license_date, id) INCLUDE (start_license_date)`,
  // The service revokes the license keys of an instance that it deletes, with their events. This also holds for other deletions.
  `CREATE FUNCTION instance_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    UPDATE credentials SET revoked_at = now(), revoked_by = OLD.updated_by
    WHERE instance_id = OLD.id AND revoked_at IS NULL;
    RETURN NULL;
  END $$`,
  `CREATE TRIGGER instances_deleted AFTER DELETE ON instances FOR EACH ROW EXECUTE FUNCTION instance_deleted()`,
  // A row applies before `until`, back to the `until` of the row before it.
  ...table(
    "past_instance_terms",
    "License, dates and days of grace that an instance had until a time, for checks as of a past time. Grows with each change of them.",
    `
    organization_id uuid NOT NULL,
    instance_id uuid NOT NULL,
    until timestamptz NOT NULL,
    license_id uuid NOT NULL,
    start_license_date timestamptz NOT NULL,
    end_license_date timestamptz,
    grace_days smallint,
    PRIMARY KEY (organization_id, instance_id, until),
    FOREIGN KEY (organization_id, instance_id) REFERENCES instances (organization_id, id) ON DELETE CASCADE,
    FOREIGN KEY (organization_id, license_id) REFERENCES licenses (organization_id, id) ON DELETE CASCADE
  `,
  ),
  `CREATE INDEX past_instance_terms_license ON past_instance_terms (organization_id, license_id)`,
]

const overrides: ReadonlyArray<string> = [
  ...table(
    "entitlement_overrides",
    "Another grant of one instance, in force from starts_at until the earlier of ends_at and ended_at. Grows with each override and each change of one.",
    `
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    instance_id uuid NOT NULL,
    entitlement_id uuid NOT NULL,
    mode text NOT NULL CHECK (mode IN ('SET', 'ADD')),
    value jsonb NOT NULL,
    overage_percent double precision CHECK (overage_percent >= 0),
    starts_at timestamptz NOT NULL,
    ends_at timestamptz CHECK (ends_at > starts_at),
    reason text,
    created_at timestamptz NOT NULL,
    created_by jsonb NOT NULL,
    ended_at timestamptz,
    ended_by jsonb,
    PRIMARY KEY (organization_id, id),
    FOREIGN KEY (organization_id, instance_id) REFERENCES instances (organization_id, id) ON DELETE CASCADE,
    FOREIGN KEY (organization_id, entitlement_id) REFERENCES entitlements (organization_id, id) ON DELETE CASCADE
  `,
  ),
  // One for each instance and entitlement is current, or was until it ended by time.
  `CREATE UNIQUE INDEX entitlement_overrides_current ON entitlement_overrides (organization_id, instance_id, entitlement_id)
    WHERE ended_at IS NULL`,
  `CREATE INDEX entitlement_overrides_instance ON entitlement_overrides (organization_id, instance_id, id)`,
  `CREATE INDEX entitlement_overrides_past ON entitlement_overrides (organization_id, instance_id, entitlement_id, starts_at)`,
  `CREATE INDEX entitlement_overrides_entitlement ON entitlement_overrides (organization_id, entitlement_id)`,
]

const termNotices: ReadonlyArray<string> = [
  // `set_at`: when the current end was set. `due_at`: when to look at the instance next; null: no event is left.
  ...table(
    "term_schedules",
    "When the next event about the end of an instance's license is due. Triggers write it after each change of the term. Grows with each instance whose license ends.",
    `
    organization_id uuid NOT NULL,
    instance_id uuid NOT NULL,
    set_at timestamptz NOT NULL,
    due_at timestamptz,
    leads text,
    PRIMARY KEY (organization_id, instance_id),
    FOREIGN KEY (organization_id, instance_id) REFERENCES instances (organization_id, id) ON DELETE CASCADE
  `,
  ),
  `CREATE INDEX term_schedules_due ON term_schedules (due_at) WHERE due_at IS NOT NULL`,
  // Refers to the schedule, not to the instance: a lock of the instance would be one that waits for its changes.
  ...table(
    "term_notices",
    "An event about the end of a license that was emitted, so that it is emitted once. Grows by a few rows for each end of a license.",
    `
    organization_id uuid NOT NULL,
    instance_id uuid NOT NULL,
    end_license_date timestamptz NOT NULL,
    notice text NOT NULL,
    emitted_at timestamptz NOT NULL,
    PRIMARY KEY (organization_id, instance_id, end_license_date, notice),
    FOREIGN KEY (organization_id, instance_id) REFERENCES term_schedules (organization_id, instance_id) ON DELETE CASCADE
  `,
  ),
  `CREATE FUNCTION instance_term_changed() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO term_schedules AS schedule (organization_id, instance_id, set_at, due_at)
    VALUES (NEW.organization_id, NEW.id, NEW.updated_at, CASE WHEN NEW.end_license_date IS NOT NULL THEN 'epoch'::timestamptz END)
    ON CONFLICT (organization_id, instance_id) DO UPDATE SET
      due_at = excluded.due_at,
      set_at = CASE WHEN NEW.end_license_date IS DISTINCT FROM OLD.end_license_date THEN excluded.set_at ELSE schedule.set_at END;
    RETURN NULL;
  END $$`,
  `CREATE TRIGGER instances_term_inserted AFTER INSERT ON instances
    FOR EACH ROW WHEN (NEW.end_license_date IS NOT NULL) EXECUTE FUNCTION instance_term_changed()`,
  `CREATE TRIGGER instances_term_changed AFTER UPDATE OF end_license_date, grace_days, license_id ON instances
    FOR EACH ROW WHEN (
      (OLD.end_license_date, OLD.grace_days, OLD.license_id) IS DISTINCT FROM (NEW.end_license_date, NEW.grace_days, NEW.license_id)
    ) EXECUTE FUNCTION instance_term_changed()`,
  // Only instances in a grace period, or in the new one, have another end of it. Those that end later are looked at then.
  `CREATE FUNCTION license_grace_changed() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    UPDATE term_schedules schedule SET due_at = 'epoch'
    FROM instances
    WHERE instances.organization_id = NEW.organization_id AND instances.license_id = NEW.id AND instances.grace_days IS NULL
      AND instances.end_license_date <= NEW.updated_at
      AND instances.end_license_date > NEW.updated_at - make_interval(hours => 24 * greatest(OLD.grace_days, NEW.grace_days))
      AND schedule.organization_id = instances.organization_id AND schedule.instance_id = instances.id;
    RETURN NULL;
  END $$`,
  `CREATE TRIGGER licenses_grace_changed AFTER UPDATE OF grace_days ON licenses
    FOR EACH ROW WHEN (OLD.grace_days IS DISTINCT FROM NEW.grace_days) EXECUTE FUNCTION license_grace_changed()`,
]

/** Instances, their overrides, and when their licenses end. */
export const instances: ReadonlyArray<string> = [...instanceTables, ...overrides, ...termNotices]
