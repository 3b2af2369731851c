/** Serves only the measured operations, handwritten on `node:http` with `pg`: the least that a server can do. */
import { createServer } from "node:http"
import { operations, optionsFromEnvironment } from "./operations.mjs"

const ops = operations(optionsFromEnvironment())

const send = (response, status, value, headers = {}) => {
  const text = JSON.stringify(value)
  response.writeHead(status, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(text),
    ...headers,
  })
  response.end(text)
}

const read = async (request) => {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  return JSON.parse(Buffer.concat(chunks).toString("utf8"))
}

const INSTANCES = "/api/instances/"

const scopeOf = (method, url) => {
  if (url.startsWith("/api/customers/") || url === "/tokens/validate") return "read:customers"
  if (url.startsWith(INSTANCES)) return url.endsWith("/usage") ? "write:instances" : "read:instances"
  if (url.startsWith("/api/openfeature/")) return "read:feature_flags"
  return method === "GET" ? "read:entitlements" : "write:components"
}

const sendUsage = async (response, caller, url, body) => {
  const [slug, what, entitlement] = url.slice(INSTANCES.length).split("/")
  const result =
    what === "entitlements"
      ? await ops.report(caller, slug, entitlement, body.value)
      : body.consume
        ? await ops.consume(caller, slug, body.checks)
        : await ops.check(caller, slug, body)
  return result === undefined ? send(response, 404, { code: "Instance.NotFound" }) : send(response, 200, result)
}

const handle = async (request, response) => {
  const { headers, method, url } = request
  const scope = scopeOf(method, url)
  const caller = await ops.authenticate(headers.authorization, scope)
  if (caller === undefined) return send(response, 401, { code: "Auth.InvalidCredential" })
  if (url.startsWith(INSTANCES)) return sendUsage(response, caller, url, await read(request))
  if (scope === "read:feature_flags") {
    const { etag, text } = await ops.manifest(caller)
    const length = Buffer.byteLength(text)
    const headers = {
      "content-type": "application/json",
      "content-length": length,
      etag,
      "x-manifest-capabilities": "read",
    }
    return response.writeHead(200, headers).end(text)
  }
  if (url === "/tokens/validate") {
    const headers = {
      authorization: `Bearer ${await ops.exchange(caller)}`,
      "cache-control": "no-store",
      "content-length": 0,
    }
    return response.writeHead(200, headers).end()
  }
  if (scope === "read:customers") {
    const customer = await ops.customer(caller, url.slice("/api/customers/".length))
    return customer === undefined ? send(response, 404, { code: "Customer.NotFound" }) : send(response, 200, customer)
  }
  if (method === "GET") {
    const limit = Number(new URL(url, "http://localhost").searchParams.get("limit") ?? 50)
    return send(response, 200, await ops.entitlements(caller, limit))
  }
  const component = await ops.createComponent(caller, await read(request), url.startsWith("/single/"))
  return send(response, 201, component, { location: `/api/components/${component.slug}` })
}

const server = createServer((request, response) => {
  handle(request, response).catch((error) => send(response, 500, { error: String(error) }))
})
server.listen(Number(process.env.BENCH_PORT), "127.0.0.1", () => console.log("ready"))
