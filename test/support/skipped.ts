/** The name of a test, with the reason if it is skipped. */
export const withReason = (name: string, why: string | undefined): string =>
  why === undefined ? name : `${name} (skipped: ${why})`
