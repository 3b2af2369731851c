/** Clients in a network in which no service responds, and what they must fail with. */
import { assert } from "@effect/vitest"
import { inspect } from "node:util"
import { makeClient } from "../../../clients/typescript/src/Client.ts"
import { ConfigurationError, createProductClient, isServiceAway } from "../../../clients/typescript/src/product/node.ts"
import type { ClientOptions } from "../../../clients/typescript/src/product/node.ts"
import type { RawRequest } from "../../../clients/typescript/src/Transport.ts"

export const TOKEN = "ksh_0123456789"
export const ADDRESS = "https://keyshelf.example"

const table = {
  getMe: "GET /api/me",
  getInstance: "GET /api/instances/{instanceSlug}",
  listCustomers: "GET /api/customers",
  createCustomer: "POST /api/customers",
  createInstance: "POST /api/instances",
}

/** A typed client of some operations. The build generates the others. */
export const typedClient = (options: ClientOptions) =>
  makeClient(table as never, options) as unknown as Readonly<
    Record<keyof typeof table, (request?: RawRequest) => Promise<unknown>>
  >

interface Sent {
  readonly url: string
  readonly headers: Headers
  readonly body: string
}

/** A network in which no service responds. It records what is sent, and rejects what `fetch` rejects. */
export const network = () => {
  const sent: Array<Sent> = []
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const request = new Request(input, init)
    sent.push({
      url: input instanceof Request ? input.url : String(input),
      headers: request.headers,
      body: await request.text(),
    })
    throw new TypeError("fetch failed")
  }
  return { sent, fetch }
}

/** A client whose calls are answered by a policy: `allowed` is the answer of `"open"`. */
export const playing = (options: Partial<ClientOptions> = {}) => {
  const { fetch, sent } = network()
  return {
    sent,
    client: createProductClient({ baseUrl: ADDRESS, token: TOKEN, mode: "remote", retries: 0, fetch, ...options }),
  }
}

/** What a function throws. */
export const thrownBy = (make: () => unknown): unknown => {
  try {
    make()
  } catch (error) {
    return error
  }
  return assert.fail("It must throw")
}

/** All that a log may print of an error. */
export const printed = (error: unknown): string =>
  `${inspect(error, { depth: 10, showHidden: true })} ${String(error)} ${JSON.stringify(error)}`

/** The error names the setting and never its value, and no policy answers. */
export const assertConfiguration = (error: unknown, setting: string, value: unknown, id: string) => {
  assert.instanceOf(error, ConfigurationError, id)
  assert.strictEqual(error.setting, setting, id)
  assert.include(error.message, setting, id)
  assert.isFalse(isServiceAway(error), id)
  if (typeof value === "string" && value.length > 8) {
    assert.notInclude(printed(error), JSON.stringify(value).slice(1, -1), id)
    if (setting !== "baseUrl") assert.notInclude(printed(error), value.trim(), id)
  }
}

/** The error says that the request is wrong, and no policy answers. */
export const assertFault = (error: unknown, id: string) => {
  assert.isTrue(error instanceof TypeError || error instanceof RangeError, `${id}: ${String(error)}`)
  assert.isFalse(isServiceAway(error), id)
}
