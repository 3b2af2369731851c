/** The key of a total, and references of the tables of usage. */

export const TOTAL = "organization_id, instance_id, entitlement_id, period_start"
export const totalColumns = `
    organization_id uuid NOT NULL,
    instance_id uuid NOT NULL,
    entitlement_id uuid NOT NULL,
    period_start timestamptz NOT NULL`
export const toInstance = `FOREIGN KEY (organization_id, instance_id) REFERENCES instances (organization_id, id) ON DELETE CASCADE`
export const toEntitlement = `FOREIGN KEY (organization_id, entitlement_id) REFERENCES entitlements (organization_id, id) ON DELETE CASCADE`
export const toTotal = `FOREIGN KEY (${TOTAL}) REFERENCES usage_totals (${TOTAL}) ON DELETE CASCADE`
