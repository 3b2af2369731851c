/** Hosts of the settings in URLs. */

/** A host as URLs contain it: IPv6 addresses in brackets. */
export const hostInUrl = (host: string): string => (host.includes(":") ? `[${host}]` : host)

/**
 * The host at which this machine reaches a listener, as URLs contain it. A wildcard address listens on all interfaces, and is
 * reached at the loopback address.
 */
export const reachableHost = (host: string): string => {
  if (host === "0.0.0.0") return "127.0.0.1"
  return hostInUrl(host === "::" ? "::1" : host)
}
