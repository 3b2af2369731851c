/**
 * Texts that look like a credential of this service, and how they are kept out of logs, traces and error answers
 * wherever a caller put them: in a path, a query, a slug, a message. Pure.
 */

/** Our tokens, webhook secrets and signed tokens (JWS), as a source for a regular expression. */
export const SECRET_TEXT =
  "ks[hm]_[A-Za-z0-9_-]{16,}|whsec_[A-Za-z0-9+/=_%-]{16,}|eyJ[A-Za-z0-9_-]{8,}\\.[A-Za-z0-9_-]{8,}\\.[A-Za-z0-9_-]+"

const everywhere = new RegExp(SECRET_TEXT, "g")

const masked = (secret: string): string =>
  `${secret.startsWith("eyJ") ? "eyJ" : secret.slice(0, secret.indexOf("_") + 1)}***`

/** The text with `***` for whatever looks like a credential; its family stays readable. */
export const withoutSecrets = (text: string): string => text.replace(everywhere, masked)
