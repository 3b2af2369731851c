/**
 * Exports telemetry over OTLP/HTTP as JSON in the background. An unreachable receiver loses telemetry and affects
 * nothing else.
 */
import { Layer } from "effect"
import { FetchHttpClient, HttpBody, HttpMiddleware, UrlParams } from "effect/http"
import * as Otlp from "effect/observability/Otlp"
import * as OtlpSerialization from "effect/observability/OtlpSerialization"
import type * as OtlpTracer from "effect/observability/OtlpTracer"
import { randomUUID } from "node:crypto"
import { hostname } from "node:os"
import { withoutSecrets } from "./SecretMasking.ts"
import { version } from "../Version.ts"

type TraceData = OtlpTracer.TraceData
type Span = TraceData["resourceSpans"][number]["scopeSpans"][number]["spans"][number]

const SERVER = 2

const attributeOf = (span: Span, key: string): string | undefined => {
  const value = span.attributes.find((attribute) => attribute.key === key)?.value
  return value?.stringValue ?? undefined
}

// Names a request's span after its route template, which is not yet known when the span begins. The path would give
// every record a different span name.
const named = (span: Span): Span => {
  if (span.kind !== SERVER) return span
  const method = attributeOf(span, "http.request.method") ?? "HTTP"
  const route = attributeOf(span, "http.route")
  return { ...span, name: route === undefined ? method : `${method} ${route}` }
}

// Drops SQL spans without a parent: workers poll the database every second, and those spans carry no information.
const isExported = (span: Span): boolean => span.parentSpanId !== undefined || !span.name.startsWith("sql.")

/** Selects and names the recorded spans to export. */
const toExportedTraces = ({ resourceSpans }: TraceData): TraceData => ({
  resourceSpans: resourceSpans.map(({ scopeSpans, ...resource }) => ({
    ...resource,
    scopeSpans: scopeSpans.map(({ spans, ...scope }) => ({ ...scope, spans: spans.filter(isExported).map(named) })),
  })),
})

// OTLP/JSON represents non-finite numbers as strings.
const replaceNonFinite = (_key: string, value: unknown) =>
  typeof value === "number" && !Number.isFinite(value) ? String(value) : value

const body = (data: unknown) =>
  HttpBody.text(withoutSecrets(JSON.stringify(data, replaceNonFinite)), "application/json")

const serialization = Layer.succeed(OtlpSerialization.OtlpSerialization, {
  traces: (data) => body(toExportedTraces(data)),
  metrics: body,
  logs: body,
})

const isUntraced = (url: string): boolean => url.startsWith("/health/") || url === "/metrics"

/** Exporters to a receiver. Signals go to `/v1/traces`, `/v1/metrics` and `/v1/logs` under its base URL. */
export const layerFrom = (baseUrl: string, interval: Partial<Record<"traces" | "metrics" | "logs", string>> = {}) =>
  Layer.mergeAll(
    Otlp.layer({
      baseUrl,
      resource: {
        serviceName: "keyshelf",
        serviceVersion: version,
        attributes: { "service.instance.id": randomUUID(), "host.name": hostname() },
      },
      shutdownTimeout: "2 seconds",
      ...(interval.traces === undefined ? {} : { tracerExportInterval: interval.traces as "1 second" }),
      ...(interval.metrics === undefined ? {} : { metricsExportInterval: interval.metrics as "1 second" }),
      ...(interval.logs === undefined ? {} : { loggerExportInterval: interval.logs as "1 second" }),
    }),
    Layer.succeed(HttpMiddleware.TracerDisabledWhen, (request) => isUntraced(request.url)),
    // Exports the names of query parameters, but redacts their values, which may be secret.
    Layer.succeed(UrlParams.CurrentRedactedNames, [/./]),
  ).pipe(Layer.provide(serialization), Layer.provide(FetchHttpClient.layer))
