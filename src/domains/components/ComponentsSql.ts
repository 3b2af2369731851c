/** SQL by which later domains read components. */
import { readableRows } from "../../kernel/database/ReadableRows.ts"

/** The components. */
export const componentsSql = readableRows("components")
