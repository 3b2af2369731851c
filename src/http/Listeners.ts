/** HTTP listeners: bound to the loopback interface unless told otherwise, draining on shutdown. */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { ByteSize, Context, Effect, Layer, Option, Predicate, Schema } from "effect"
import { HttpIncomingMessage, HttpRouter, HttpServer } from "effect/http"
import { createServer, ServerResponse, STATUS_CODES } from "node:http"
import type { IncomingMessage } from "node:http"
import type { Duplex } from "node:stream"
import { problemFor, undeclared } from "../kernel/contract/UndeclaredProblems.ts"
import { Draining } from "../kernel/ports/Shutdown.ts"
import { requestContext } from "./RequestContext.ts"
import { requestIdOf } from "./middleware/ProblemResponses.ts"

/** A listener cannot be opened. The message names the setting to change. */
export class ListenerUnavailable extends Schema.TaggedError<ListenerUnavailable>()("ListenerUnavailable", {
  message: Schema.String,
}) {}

const problemText = (status: number, path: string) =>
  JSON.stringify({ ...problemFor(status in undeclared ? status : 400), status, instance: path })

const refuse = (request: IncomingMessage, response: ServerResponse, status: number) => {
  const body = problemText(status, request.url ?? "/")
  response.writeHead(status, {
    "content-type": "application/problem+json",
    "content-length": Buffer.byteLength(body),
    ...(status === 503 ? { "retry-after": "1" } : {}),
    connection: "close",
    "x-request-id": requestIdOf(request.headers["x-request-id"]?.toString()),
  })
  response.end(body)
}

const statusOfParseError = (error: Error): number => {
  const code = Predicate.hasProperty(error, "code") ? error.code : undefined
  if (code === "HPE_HEADER_OVERFLOW") return 431
  return code === "ERR_HTTP_REQUEST_TIMEOUT" ? 408 : 400
}

// Where there is no response to write to.
const answerOn = (socket: Duplex, status: number, path: string) => {
  if (socket.destroyed || !socket.writable) return
  const body = problemText(status, path)
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: application/problem+json\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nx-request-id: ${requestIdOf(undefined)}\r\nconnection: close\r\n\r\n${body}`,
  )
}

// Node.js has let go of such a socket: nobody else hears its errors or would ever close it.
const onConnect = (request: IncomingMessage, socket: Duplex) => {
  socket.on("error", () => socket.destroy())
  socket.once("finish", () => socket.destroy())
  answerOn(socket, 404, request.url ?? "/")
}

/**
 * Has Node.js send an answer that is there as a whole in one piece. Effect lets Node.js compare what is written with the length it
 * was told, which takes two; a text that comes with its length needs no such comparison.
 */
class WholeResponse extends ServerResponse {
  override end(chunk?: unknown, encoding?: unknown, callback?: () => void): this {
    if (typeof chunk === "string") this.strictContentLength = false
    return super.end(chunk, encoding as BufferEncoding, callback)
  }
}

// What Node refuses before there is a request, or hangs up on, or answers without a body: still a problem document.
const makeServer = () => {
  // The fallback of all answers asks for `Host`.
  const server = createServer({
    ServerResponse: WholeResponse,
    requestTimeout: 60_000,
    headersTimeout: 20_000,
    keepAliveTimeout: 65_000,
    requireHostHeader: false,
  })
  server.on("request", (request, response) => {
    // The socket listens while the last parts of the service are built; a request in that moment must not hang.
    if (server.listenerCount("request") === 1) refuse(request, response, 503)
  })
  server.on("clientError", (error, socket) => answerOn(socket, statusOfParseError(error), ""))
  server.on("checkExpectation", (request, response) => refuse(request, response, 417))
  server.on("connect", onConnect)
  return server
}

const codeOf = (cause: unknown): string => (Predicate.hasProperty(cause, "code") ? String(cause.code) : "")

const explain = (host: string, port: number, setting: string, cause: unknown): ListenerUnavailable => {
  const address = `${host}:${port}`
  switch (codeOf(cause)) {
    case "EADDRINUSE":
      return new ListenerUnavailable({
        message: `${address} is in use by another process. Stop it, or set ${setting} to a free port.`,
      })
    case "EACCES":
      return new ListenerUnavailable({
        message: `This user may not listen on ${address}. Set ${setting} to a port above 1023.`,
      })
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
      return new ListenerUnavailable({ message: `This machine has no address "${host}". Correct SERVICE_HOST.` })
    default:
      return new ListenerUnavailable({
        message: `${address} (${setting}) cannot be opened: ${codeOf(cause) || String(cause)}`,
      })
  }
}

// Longer than any request line that Node.js reads: what is too long is refused by its schema, with its place.
const LONGEST_SEGMENT = 16 * 1024

// Built last, so that it is the first to know that the listener stops: live streams end then, and nobody waits for them.
const tellEnd = Layer.effectDiscard(
  Effect.flatMap(Effect.serviceOption(Draining), (draining) =>
    Option.isSome(draining) ? Effect.addFinalizer(() => draining.value.begin) : Effect.void,
  ),
)

const withLeanRequests = (server: HttpServer.HttpServer["Service"]) =>
  HttpServer.make({
    ...server,
    serve: (httpEffect, middleware) => {
      const serving = middleware === undefined ? server.serve(httpEffect) : server.serve(httpEffect, middleware)
      return Effect.updateContext(serving, requestContext)
    },
  })

/** Serves routes on an address. `setting` is what a message about the port names. */
export const serve = <A, E, R>(
  routes: Layer.Layer<A, E, R>,
  options: { readonly host: string; readonly port: number; readonly setting: string },
) =>
  HttpRouter.serve(routes, {
    // A line per request costs a quarter of the throughput; problems are logged by the fallback, requests are traced.
    disableLogger: true,
    disableListenLog: true,
    // One path for one thing: no second spelling that a gateway's rule might not know.
    routerConfig: {
      maxParamLength: LONGEST_SEGMENT,
      caseSensitive: true,
      ignoreTrailingSlash: false,
      ignoreDuplicateSlashes: false,
    },
  }).pipe(
    // Fresh: each listener tells its own end, not the end of the last one.
    (served) => Layer.provideMerge(Layer.fresh(tellEnd), served),
    Layer.provideMerge(
      Layer.effectContext(
        Layer.build(
          NodeHttpServer.layer(makeServer, {
            host: options.host,
            port: options.port,
            gracefulShutdownTimeout: "10 seconds",
          }),
        ).pipe(
          Effect.map((built) =>
            Context.add(built, HttpServer.HttpServer, withLeanRequests(Context.get(built, HttpServer.HttpServer))),
          ),
          Effect.mapError((error) => explain(options.host, options.port, options.setting, error.cause)),
        ),
      ),
    ),
    Layer.provide(Layer.succeed(HttpIncomingMessage.MaxBodySize, ByteSize.mebibytes(1))),
  )
