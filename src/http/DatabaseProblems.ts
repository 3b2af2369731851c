/**
 * The response when the database temporarily fails a request: the reason, and that it can be retried. Any other failure
 * is a bug.
 */
import type { Cause } from "effect"
import { isSqlError } from "effect/sql/SqlError"
import type { SqlError } from "effect/sql/SqlError"
import { isNotConnected, isReadOnly, sqlStateOf } from "../kernel/database/Statements.ts"

const AGAIN = "Try again shortly."

const CONFLICT = `Other requests were changing the same records at the same moment, and this one was rolled back. ${AGAIN}`

const TIMEOUT = `The database did not finish the request in time, and it was rolled back. ${AGAIN}`

const RESTART = `The database is restarting. ${AGAIN}`

/** By SQLSTATE. A conflict is reported only after the retries of its transaction. */
const details = new Map([
  ["55P03", `Another request is changing this record, and has not ended yet. ${AGAIN}`],
  ["40P01", CONFLICT],
  ["40001", CONFLICT],
  ["57014", TIMEOUT],
  ["25P03", TIMEOUT],
  ["25P04", TIMEOUT],
  ["53100", `The database's disk is full, so it stores no changes. ${AGAIN}`],
  ["53200", `The database has no memory left. ${AGAIN}`],
  ["53300", `The database accepts no more connections at the moment. ${AGAIN}`],
  ["57P01", RESTART],
  ["57P02", RESTART],
  ["57P03", RESTART],
])

const UNREACHABLE = `The service cannot reach its database. ${AGAIN}`

// Without a SQLSTATE the socket failed. Otherwise the classes 57 (intervention), 53 (resources) and 08 (connection) are
// temporary.
const isUnclassified = ({ reason }: SqlError): boolean => {
  const state = sqlStateOf(reason)
  return reason._tag === "UnknownError" && (state === "" || /^(57|53|08)/.test(state))
}

const detailOf = (error: SqlError): string | undefined => {
  if (isReadOnly(error)) return `The database accepts no changes at the moment. ${AGAIN}`
  const detail = details.get(sqlStateOf(error.reason))
  if (detail !== undefined) return detail
  return error.reason._tag === "ConnectionError" || isNotConnected(error) || isUnclassified(error)
    ? UNREACHABLE
    : undefined
}

const sqlErrorsOf = (cause: Cause.Cause<unknown>): ReadonlyArray<SqlError> =>
  cause.reasons
    .map((reason) => (reason._tag === "Die" ? reason.defect : reason._tag === "Fail" ? reason.error : undefined))
    .filter(isSqlError)

/** Why the database temporarily failed a request; `undefined` if it did not. */
export const unavailableDetail = (cause: Cause.Cause<unknown>): string | undefined =>
  sqlErrorsOf(cause)
    .map(detailOf)
    .find((detail) => detail !== undefined)
