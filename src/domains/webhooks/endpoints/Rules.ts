/** What an endpoint's URL and subscriptions may be (contract, sections 6 and 9, "Webhooks"). Pure. */
import { Option } from "effect"
import type { ProblemFault } from "../../../kernel/contract/Problem.ts"
import type { CreateWebhookEndpoint, UpdateWebhookEndpoint } from "../Model.ts"

/** How many endpoints an organization may have: each event is copied to every endpoint that subscribes to it. */
export const MAX_ENDPOINTS = 1000

/** How many secrets of an endpoint sign at once, however often it is rotated. */
export const MAX_ACTIVE_SECRETS = 10

/** How long a secret still signs after its rotation. */
export const SECRET_OVERLAP_MS = 24 * 60 * 60 * 1000

const MAX_URL_LENGTH = 2048

/**
 * The one spelling of a URL that is stored and called: the name in lower case, the address in dotted form, the path encoded. A
 * URL without a path stays without its slash.
 */
export const canonicalUrl = (text: string): string => {
  const { href } = new URL(text)
  return href === `${text}/` ? text : href
}

/**
 * What is wrong with a URL. `refusal` says whether calls may go there as it is written. A name may still turn out to be refused at
 * the connection.
 */
export const findUrlError = (text: string, refusal: (url: string) => Option.Option<string>): string | undefined => {
  // URL parsers drop or turn these silently: what is read here would not be what is called.
  if (/[\s\\\p{Cc}]/u.test(text)) return "holds a space, a backslash or a control character"
  if (/^[a-z]+:\/\/\//i.test(text)) return "names no host"
  const refused = refusal(text)
  if (Option.isSome(refused)) return refused.value
  if (text.includes("#")) return "holds a fragment, which is never sent"
  return canonicalUrl(text).length > MAX_URL_LENGTH
    ? `is longer than ${MAX_URL_LENGTH} characters when encoded`
    : undefined
}

/** All faults of a body that its schema lets through. */
export const validateEndpoint = (
  { eventNames, url }: CreateWebhookEndpoint | UpdateWebhookEndpoint,
  refusal: (url: string) => Option.Option<string>,
): ReadonlyArray<ProblemFault> => {
  const fault = url === undefined ? undefined : findUrlError(url, refusal)
  return [
    // A URL that holds a password is not echoed.
    ...(fault === undefined
      ? []
      : [{ location: "body.url", message: fault, ...(url?.includes("@") === true ? {} : { value: url }) }]),
    ...(eventNames ?? []).flatMap((name, index, names) =>
      names.indexOf(name) === index
        ? []
        : [{ location: `body.eventNames[${index}]`, message: "is named twice", value: name }],
    ),
  ]
}
