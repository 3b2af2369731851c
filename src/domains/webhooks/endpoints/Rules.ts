/** Validates the URL and subscriptions of an endpoint. Pure. */
import { Option } from "effect"
import { DAY_MS } from "../../../kernel/values/Timestamp.ts"
import type { ValidationError } from "../../../kernel/contract/Problem.ts"
import type { CreateWebhookEndpoint, UpdateWebhookEndpoint } from "../Model.ts"

/** The maximum number of endpoints of an organization. Each event becomes a delivery per subscribed endpoint. */
export const MAX_ENDPOINTS = 1000

/** The maximum number of active secrets of an endpoint. Each adds a signature to every delivery. */
export const MAX_ACTIVE_SECRETS = 10

/** How long a secret stays active after its rotation. */
export const SECRET_OVERLAP_MS = DAY_MS

const MAX_URL_LENGTH = 2048

/**
 * Returns the canonical form of a URL, which is stored and called: host name in lower case, address in dotted form,
 * path encoded. A URL without a path is not given a slash.
 */
export const canonicalUrl = (text: string): string => {
  const { href } = new URL(text)
  return href === `${text}/` ? text : href
}

/**
 * Returns what is wrong with a URL. `rejectionReason` returns why calls to the URL are denied. A host name can still be denied
 * at the connection, by the address that it resolves to.
 */
export const findUrlError = (
  text: string,
  rejectionReason: (url: string) => Option.Option<string>,
): string | undefined => {
  // URL parsers silently drop or replace these characters, so the URL that is called would differ from the text.
  if (/[\s\\\p{Cc}]/u.test(text)) return "must not contain a space, a backslash or a control character"
  if (/^[a-z]+:\/\/\//i.test(text)) return "must contain a host"
  const denied = rejectionReason(text)
  if (Option.isSome(denied)) return denied.value
  if (text.includes("#")) return "must not contain a fragment, because it is never sent"
  return canonicalUrl(text).length > MAX_URL_LENGTH
    ? `must not be longer than ${MAX_URL_LENGTH} characters when encoded`
    : undefined
}

/** Returns all validation errors of a body that its schema accepts. */
export const validateEndpoint = (
  { eventNames, url }: CreateWebhookEndpoint | UpdateWebhookEndpoint,
  refusal: (url: string) => Option.Option<string>,
): ReadonlyArray<ValidationError> => {
  const urlError = url === undefined ? undefined : findUrlError(url, refusal)
  return [
    // A URL that may contain a password is not returned.
    ...(urlError === undefined
      ? []
      : [{ location: "body.url", message: urlError, ...(url?.includes("@") === true ? {} : { value: url }) }]),
    ...(eventNames ?? []).flatMap((name, index, names) =>
      names.indexOf(name) === index
        ? []
        : [{ location: `body.eventNames[${index}]`, message: "must not be repeated", value: name }],
    ),
  ]
}
