/** How the commands that call a service end (docs/command-line.md). */

/** The exit codes of failures. Any other failure, such as a wrong flag, is 1. */
export const EXIT_CODES = {
  /** The service rejected the request. */
  rejected: 2,
  /** `check`: at least one entitlement is not allowed. `offline verify`: the bundle is not valid. */
  notAllowed: 3,
  /** The credential is missing, wrong, or lacks a scope. */
  unauthorized: 4,
  notFound: 5,
  /** No response, or one that says to try again later. */
  unavailable: 6,
  /** `apply --dry-run`: there are changes. */
  changesPlanned: 7,
} as const

/** The exit code for the status of a response that is not a success. */
export const exitCodeOf = (status: number): number => {
  if (status === 401 || status === 403) return EXIT_CODES.unauthorized
  if (status === 404) return EXIT_CODES.notFound
  return status === 429 || status >= 500 ? EXIT_CODES.unavailable : EXIT_CODES.rejected
}
