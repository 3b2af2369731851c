/** SQL by which later domains read releases. */
import { readableRows } from "../../kernel/database/ReadableRows.ts"

/** The releases. */
export const releasesSql = readableRows("releases")
