/**
 * Masks text that looks like a credential of this service in logs, traces and error responses, wherever a caller put
 * it: in a path, a query, a slug or a message. Pure.
 */

/** Source of a regular expression that matches tokens, tickets of streams, webhook secrets and signed tokens (JWS). */
export const SECRET_TEXT =
  "ks[hmt]_[A-Za-z0-9_-]{16,}|whsec_[A-Za-z0-9+/=_%-]{16,}|eyJ[A-Za-z0-9_-]{8,}\\.[A-Za-z0-9_-]{8,}\\.[A-Za-z0-9_-]+"

const SECRETS = new RegExp(SECRET_TEXT, "g")

const masked = (secret: string): string =>
  `${secret.startsWith("eyJ") ? "eyJ" : secret.slice(0, secret.indexOf("_") + 1)}***`

/** Replaces everything that looks like a credential by its prefix and `***`. */
export const withoutSecrets = (text: string): string => text.replace(SECRETS, masked)
