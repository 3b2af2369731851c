/** Serves the operations by fastify with `pg`, as most users would. */
import Fastify from "fastify"
import { operations, optionsFromEnvironment } from "./operations.mjs"

const ops = operations(optionsFromEnvironment())
const app = Fastify({ logger: false })

const problem = (reply, status, code, title) =>
  reply
    .code(status)
    .type("application/problem+json")
    .send({ type: `urn:keyshelf:problem:${code}`, title, status, detail: title, errors: [] })

const guarded = (scope, handler) => async (request, reply) => {
  const caller = await ops.authenticate(request.headers.authorization, scope)
  return caller === undefined
    ? problem(reply, 401, "Auth.InvalidCredential", "Unauthorized")
    : handler(caller, request, reply)
}

app.get(
  "/api/customers/:slug",
  guarded("read:customers", async (caller, request, reply) => {
    const customer = await ops.customer(caller, request.params.slug)
    return customer ?? problem(reply, 404, "Customer.NotFound", "No such customer")
  }),
)
app.get(
  "/api/entitlements",
  {
    schema: {
      querystring: {
        type: "object",
        properties: { limit: { type: "integer", minimum: 1, maximum: 200, default: 50 } },
      },
    },
  },
  guarded("read:entitlements", (caller, request) => ops.entitlements(caller, request.query.limit)),
)
const checks = {
  type: "array",
  minItems: 1,
  maxItems: 100,
  items: {
    type: "object",
    required: ["entitlement"],
    additionalProperties: false,
    properties: {
      entitlement: { type: "string", minLength: 1, maxLength: 255 },
      requested: { type: "number", minimum: 0 },
    },
  },
}
app.post(
  "/api/instances/:slug/check",
  {
    schema: {
      body: {
        type: "object",
        required: ["checks"],
        additionalProperties: false,
        properties: { checks, consume: { type: "boolean" } },
      },
    },
  },
  guarded("read:instances", async (caller, request, reply) => {
    const { body, params } = request
    const result = body.consume
      ? await ops.consume(caller, params.slug, body.checks)
      : await ops.check(caller, params.slug, body)
    return result ?? problem(reply, 404, "Instance.NotFound", "No such instance")
  }),
)
app.post(
  "/api/instances/:slug/entitlements/:entitlement/usage",
  {
    schema: {
      body: {
        type: "object",
        required: ["value"],
        additionalProperties: false,
        properties: { value: { type: "number", minimum: 0 } },
      },
    },
  },
  guarded("write:instances", async (caller, { body, params }, reply) => {
    const result = await ops.report(caller, params.slug, params.entitlement, body.value)
    return result ?? problem(reply, 404, "Instance.NotFound", "No such instance")
  }),
)
app.get(
  "/api/openfeature/v0/manifest",
  guarded("read:feature_flags", async (caller, _, reply) => {
    const { etag, text } = await ops.manifest(caller)
    return reply.header("etag", etag).header("x-manifest-capabilities", "read").type("application/json").send(text)
  }),
)
app.get(
  "/tokens/validate",
  guarded("read:customers", async (caller, _, reply) =>
    reply
      .header("authorization", `Bearer ${await ops.exchange(caller)}`)
      .header("cache-control", "no-store")
      .send(),
  ),
)
const body = {
  type: "object",
  required: ["name", "version"],
  additionalProperties: false,
  properties: {
    name: { type: "string", minLength: 1, maxLength: 255 },
    version: { type: "string", minLength: 1, maxLength: 255 },
    description: { type: "string", maxLength: 4000 },
  },
}
for (const [path, single] of [
  ["/api/components", false],
  ["/single/components", true],
]) {
  app.post(
    path,
    { schema: { body } },
    guarded("write:components", async (caller, request, reply) => {
      const component = await ops.createComponent(caller, request.body, single)
      return reply.code(201).header("location", `/api/components/${component.slug}`).send(component)
    }),
  )
}

await app.listen({ host: "127.0.0.1", port: Number(process.env.BENCH_PORT) })
console.log("ready")
