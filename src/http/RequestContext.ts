/** What a request inherits of the context around its listener. */
import {
  Clock,
  ConfigProvider,
  Console,
  Context,
  ErrorReporter,
  Metric,
  Random,
  References,
  Scheduler,
  Scope,
  Tracer,
} from "effect"
import { Headers, HttpClient, HttpIncomingMessage, HttpMiddleware, UrlParams } from "effect/http"

/**
 * The references that Effect reads while a request runs. Handlers resolve our services when they are built; a hundred of them would
 * only be copied, twice, for every request.
 */
export const inheritedKeys: ReadonlyArray<Context.Key<never, unknown>> = [
  Clock.Clock,
  ConfigProvider.ConfigProvider,
  Console.Console,
  ErrorReporter.CurrentErrorReporters,
  Headers.CurrentRedactedNames,
  HttpClient.SpanNameGenerator,
  HttpClient.TracerDisabledWhen,
  HttpClient.TracerHeaderFilter,
  HttpClient.TracerPropagationEnabled,
  HttpIncomingMessage.MaxBodySize,
  HttpMiddleware.SpanNameGenerator,
  HttpMiddleware.TracerDisabledWhen,
  HttpMiddleware.TracerHeaderFilter,
  Metric.CurrentMetricAttributes,
  Metric.MetricRegistry,
  Random.Random,
  References.CurrentLogAnnotations,
  References.CurrentLogLevel,
  References.CurrentLogSpans,
  References.CurrentLoggers,
  References.CurrentStackFrame,
  References.LogToStderr,
  References.MinimumLogLevel,
  References.TracerEnabled,
  References.TracerSpanAnnotations,
  References.TracerSpanLinks,
  References.TracerTimingEnabled,
  References.UnhandledLogLevel,
  Scheduler.MaxOpsBeforeYield,
  Scheduler.PreventSchedulerYield,
  Scheduler.Scheduler,
  Scope.Scope,
  Tracer.CurrentTraceLevel,
  Tracer.DisablePropagation,
  Tracer.MinimumTraceLevel,
  Tracer.ParentSpan,
  Tracer.Tracer,
  UrlParams.CurrentRedactedNames,
] as ReadonlyArray<Context.Key<never, unknown>>

const inherited = new Set(inheritedKeys.map(({ key }) => key))

/** The context with only the {@link inheritedKeys}. */
export const requestContext = <R>(context: Context.Context<R>): Context.Context<R> =>
  Context.makeUnsafe(new Map(Array.from(context.mapUnsafe).filter(([key]) => inherited.has(key))))
