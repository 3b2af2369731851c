import { statements } from "./statements.ts"

// When the next event about the end of an instance's license is due, and which were emitted. Triggers keep it current, so that it
// also holds for changes by nodes of the previous version.
export default statements(
  // `set_at`: when the current end was set. `due_at`: when to look at the instance next; null: no event is left.
  `CREATE TABLE term_schedules (
    organization_id uuid NOT NULL,
    instance_id uuid NOT NULL,
    set_at timestamptz NOT NULL,
    due_at timestamptz,
    leads text,
    PRIMARY KEY (organization_id, instance_id),
    FOREIGN KEY (organization_id, instance_id) REFERENCES instances (organization_id, id) ON DELETE CASCADE
  )`,
  `CREATE INDEX term_schedules_due ON term_schedules (due_at) WHERE due_at IS NOT NULL`,
  // Refers to the schedule, not to the instance: a lock of the instance would be one that waits for its changes.
  `CREATE TABLE term_notices (
    organization_id uuid NOT NULL,
    instance_id uuid NOT NULL,
    end_license_date timestamptz NOT NULL,
    notice text NOT NULL,
    emitted_at timestamptz NOT NULL,
    PRIMARY KEY (organization_id, instance_id, end_license_date, notice),
    FOREIGN KEY (organization_id, instance_id) REFERENCES term_schedules (organization_id, instance_id) ON DELETE CASCADE
  )`,
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
  // Licenses that ended before this migration are not announced.
  `INSERT INTO term_schedules (organization_id, instance_id, set_at, due_at)
    SELECT organization_id, id, updated_at, 'epoch' FROM instances WHERE end_license_date > now()`,
)
