/** The headers of the console's files. An injected script can neither run nor send anything to another host. */

/**
 * The hash of a constant style element that React Aria 1.22.1 inserts to lock scrolling behind a dialog, on WebKit with a touch
 * screen only.
 */
const SCROLL_LOCK_STYLE = "'sha256-gYiS/BvZvRcK27JIXTuwhZ3hs2+VJ1X+2gUlE+farlg='"

const ORIGIN = /^https?:\/\/(\[[\da-f:]+\]|[\w.-]+)(:\d+)?$/

/** The origins of URLs, without repetitions. An origin that could end a directive is left out: requests there are blocked. */
const originsOf = (urls: ReadonlyArray<string>): ReadonlyArray<string> =>
  [...new Set(urls.map((url) => URL.parse(url)?.origin ?? ""))].filter((origin) => ORIGIN.test(origin))

/** The content security policy of the page. Its scripts may send requests to these URLs' origins too. */
export const policyFor = (urls: ReadonlyArray<string>): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' ${SCROLL_LOCK_STYLE}`,
    "img-src 'self'",
    "font-src 'self'",
    ["connect-src 'self'", ...originsOf(urls)].join(" "),
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; ")

const UNUSED_FEATURES = [
  "accelerometer",
  "browsing-topics",
  "camera",
  "display-capture",
  "geolocation",
  "gyroscope",
  "hid",
  "magnetometer",
  "microphone",
  "midi",
  "payment",
  "serial",
  "usb",
  "xr-spatial-tracking",
]

/** Headers of everything below `/console`, except the policy of the page, and of errors below `/docs`. */
export const SECURITY_HEADERS = {
  "content-security-policy": policyFor([]),
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": UNUSED_FEATURES.map((feature) => `${feature}=()`).join(", "),
} as const

const PAGES = /^\/(?:(?:console|docs|openapi)(?![\w-])|$)/

/** The headers of an error, which a browser may show as a page. */
export const errorHeadersFor = (path: string): Readonly<Record<string, string>> =>
  PAGES.test(path) ? SECURITY_HEADERS : {}
