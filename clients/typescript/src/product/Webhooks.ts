/** Verifies deliveries of webhooks (Standard Webhooks). */
import { ConfigurationError } from "../Errors.ts"
import { trimmed } from "../Settings.ts"

/** Seconds that a delivery may be old or ahead. An older one may be a replay. */
const TOLERANCE_SECONDS = 300

/** Why a request is not a genuine delivery, in the order of the checks. */
export type WebhookFault =
  | "MISSING_HEADER"
  | "MALFORMED_TIMESTAMP"
  | "TOO_OLD"
  | "TOO_NEW"
  | "BAD_SIGNATURE"
  | "MALFORMED_BODY"

/** The request is not a genuine delivery: answer 401. */
export class WebhookRejected extends Error {
  override readonly name = "WebhookRejected"
  readonly reason: WebhookFault
  constructor(reason: WebhookFault) {
    super(`The delivery is rejected: ${reason}`)
    this.reason = reason
  }
}

/** Headers of a request: those of `fetch`, or of a server for Node.js. */
export type WebhookHeaders = Headers | Readonly<Record<string, string | ReadonlyArray<string> | undefined>>

const headersOf = (headers: WebhookHeaders): ReadonlyMap<string, string> => {
  const entries = headers instanceof Headers ? [...headers] : Object.entries(headers)
  return new Map(entries.flatMap(([name, value]) => (value === undefined ? [] : [[name.toLowerCase(), String(value)]])))
}

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/** The least length of Standard Webhooks. A shorter key can be guessed, and everyone knows the empty one. */
const MIN_KEY_BYTES = 24

const keyOf = (secret: unknown): Promise<CryptoKey> => {
  const text = trimmed(secret).replace(/^whsec_/, "")
  const decoded = BASE64.test(text) ? atob(text) : ""
  // Bits that count for nothing are the mark of a text that was changed.
  if (decoded.length < MIN_KEY_BYTES || btoa(decoded) !== text) {
    throw new ConfigurationError("secret", `must be whsec_ and at least ${MIN_KEY_BYTES} bytes in base64`)
  }
  const bytes = Uint8Array.from(decoded, (character) => character.charCodeAt(0))
  return crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["verify"])
}

/** The bytes of a signature of version 1. */
const signatureOf = (text: string): Uint8Array<ArrayBuffer> | undefined => {
  const [version, encoded = ""] = text.split(",", 2)
  if (version !== "v1" || !BASE64.test(encoded)) return undefined
  return Uint8Array.from(atob(encoded), (character) => character.charCodeAt(0))
}

const objectOf = (bytes: Uint8Array): Readonly<Record<string, unknown>> => {
  try {
    const event: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes))
    if (typeof event === "object" && event !== null && !Array.isArray(event)) {
      return event as Readonly<Record<string, unknown>>
    }
  } catch {
    // Signed, but no JSON.
  }
  throw new WebhookRejected("MALFORMED_BODY")
}

/**
 * Returns the event of a delivery, or fails with `WebhookRejected`. A secret that cannot be right is a `ConfigurationError`: no delivery
 * is the cause. `body` is the body as it was received: JSON that was parsed
 * and written again is another text. An event may come more than once; the header `webhook-id` is the same each time.
 */
export const verifyWebhook = async (
  secret: string,
  headers: WebhookHeaders,
  body: Uint8Array | string,
  /** Milliseconds since 1970. */
  now: number = Date.now(),
): Promise<Readonly<Record<string, unknown>>> => {
  const key = await keyOf(secret)
  const named = headersOf(headers)
  const [id = "", timestamp = "", signatures = ""] = ["id", "timestamp", "signature"].map((name) =>
    named.get(`webhook-${name}`),
  )
  if (id === "" || timestamp === "" || signatures === "") throw new WebhookRejected("MISSING_HEADER")
  if (!/^[0-9]{1,15}$/.test(timestamp)) throw new WebhookRejected("MALFORMED_TIMESTAMP")
  const age = now / 1000 - Number(timestamp)
  if (age > TOLERANCE_SECONDS) throw new WebhookRejected("TOO_OLD")
  if (age < -TOLERANCE_SECONDS) throw new WebhookRejected("TOO_NEW")
  const content = typeof body === "string" ? new TextEncoder().encode(body) : body
  const head = new TextEncoder().encode(`${id}.${timestamp}.`)
  const signed = new Uint8Array(head.length + content.length)
  signed.set(head)
  signed.set(content, head.length)
  let isGenuine = false
  for (const signature of signatures.split(" ").map(signatureOf)) {
    // Web Crypto compares in constant time.
    if (signature !== undefined) isGenuine = (await crypto.subtle.verify("HMAC", key, signature, signed)) || isGenuine
  }
  if (!isGenuine) throw new WebhookRejected("BAD_SIGNATURE")
  return objectOf(content)
}
