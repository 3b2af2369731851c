/** SQL by which later domains read customers. */
import { readableRows } from "../../kernel/database/ReadableRows.ts"

/** The customers. */
export const customersSql = readableRows("customers")
