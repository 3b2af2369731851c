/** SQL by which later domains read deployment zones. */
import { readableRows } from "../../kernel/database/ReadableRows.ts"

/** The deployment zones. */
export const zonesSql = readableRows("deployment_zones")
