// Makes spans and sends them to a collector by OTLP over HTTP. Imported only when an endpoint is set.
// A span has names from the source code and results: never a value, a path, a query, an email or an address.
import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import {
  isSpanContextValid,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { ExportResultCode, parseTraceParent } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { StatementWatch } from '../db/watched-statements.ts';
import { type ActiveTrace, currentTrace, within } from '../logging/current-trace.ts';
import type { Logger } from '../logging/log.ts';
import { createOutageLog } from '../logging/outage-log.ts';
import { errorCode } from '../unknown-values.ts';
import type { TracingSettings } from './settings.ts';

/** The trace of one request. */
export type RequestTrace = ActiveTrace & { end(status: number, code: string | null): void };

export type Tracing = {
  /**
   * Begins the span of a request. A `traceparent` from a trusted peer is the parent of its span. That of a stranger is
   * only linked, from a new trace: strangers choose neither the id of a trace nor whether it is kept.
   */
  beginRequest(route: {
    method: string;
    /** The pattern, or undefined where no route matched. */
    route: string | undefined;
    traceparent: string | undefined;
    isTrusted: boolean;
  }): RequestTrace;
  /** Makes a span of each statement that belongs to a trace. */
  watch: StatementWatch;
  /** Runs the work as a span: of the current trace, otherwise of a new one. */
  span<R>(name: string, run: () => Promise<R>): Promise<R>;
  /** Sends what is left, for at most two seconds. */
  stop(): Promise<void>;
};

// Beyond this number, finished spans are dropped until the collector has taken some: about 2 MB.
const MAX_QUEUE = 2_048;
const EXPORT_TIMEOUT_MS = 10_000;
const STOP_TIMEOUT_MS = 2_000;
const LOG_EVERY_MS = 60_000;
const NO_ROUTE = 'no route';

export function createTracing(settings: TracingSettings, log: Logger): Tracing {
  const { endpoint, headers } = settings;
  const provider = new TracerProvider({
    sampler: samplerOf(settings),
    resource: resourceFromAttributes({
      'service.name': settings.serviceName,
      'service.instance.id': randomUUID(),
    }),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: warning(
          new OTLPTraceExporter({
            url: `${endpoint.replace(/\/+$/, '')}/v1/traces`,
            headers: { ...headers },
            timeoutMillis: EXPORT_TIMEOUT_MS,
          }),
          log,
        ),
        maxQueueSize: MAX_QUEUE,
        exportTimeoutMillis: EXPORT_TIMEOUT_MS,
      }),
    ],
  });
  const tracer = provider.getTracer('castellan');
  const own = new WeakMap<ActiveTrace, Span>();

  const traceOf = (span: Span): ActiveTrace => {
    const active = { traceId: span.isRecording() ? span.spanContext().traceId : undefined };
    own.set(active, span);
    return active;
  };

  /** Returns the context of the current span; undefined if there is none or another service of the process made it. */
  function currentParent() {
    const current = currentTrace();
    const span = current && own.get(current);
    return span && trace.setSpan(ROOT_CONTEXT, span);
  }

  return {
    beginRequest({ method, route, traceparent, isTrusted }) {
      const theirs = readTraceparent(traceparent);
      const parent = theirs && isTrusted ? withRemote(theirs) : ROOT_CONTEXT;
      const span = tracer.startSpan(
        `${method} ${route ?? NO_ROUTE}`,
        {
          kind: SpanKind.SERVER,
          attributes: {
            'http.request.method': method,
            ...(route === undefined ? {} : { 'http.route': route }),
          },
          ...(theirs && !isTrusted ? { links: [{ context: theirs }] } : {}),
        },
        parent,
      );
      return Object.assign(traceOf(span), {
        end(status: number, code: string | null) {
          span.setAttribute('http.response.status_code', status);
          if (code !== null) span.setAttribute('error.type', code);
          if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
          span.end();
        },
      });
    },
    watch(label) {
      // A trace that is not kept needs no spans. Every sampler decides by the trace, so none of them would be kept.
      const parent = currentTrace()?.traceId === undefined ? undefined : currentParent();
      // Statements of timers would each be a separate trace.
      if (!parent) return () => {};
      const span = tracer.startSpan(
        label,
        { kind: SpanKind.CLIENT, attributes: { 'db.system.name': 'postgresql', 'db.query.summary': label } },
        parent,
      );
      return (error) => {
        if (error !== undefined) fail(span, error);
        span.end();
      };
    },
    async span(name, run) {
      const span = tracer.startSpan(name, {}, currentParent() ?? ROOT_CONTEXT);
      try {
        return await within(traceOf(span), run);
      } catch (error) {
        fail(span, error);
        throw error;
      } finally {
        span.end();
      }
    },
    async stop() {
      const sent = provider.shutdown().catch(() => undefined);
      await Promise.race([sent, wait(STOP_TIMEOUT_MS, undefined, { ref: false })]);
    },
  };
}

function readTraceparent(text: string | undefined): SpanContext | null {
  const read = text === undefined ? null : parseTraceParent(text);
  return read && isSpanContextValid(read) ? read : null;
}

const withRemote = (theirs: SpanContext) => trace.setSpanContext(ROOT_CONTEXT, { ...theirs, isRemote: true });

/** Notes the code of an error or its name. Messages may contain values. */
function fail(span: Span, error: unknown): void {
  const type = errorCode(error) ?? (error instanceof Error ? error.name : 'unknown');
  span.setAttribute('error.type', type);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

function samplerOf({ sampler, ratio }: TracingSettings): Sampler {
  const [, prefix, kind] = /^(parentbased_)?(.+)$/.exec(sampler) ?? [];
  const root =
    kind === 'always_on'
      ? new AlwaysOnSampler()
      : kind === 'always_off'
        ? new AlwaysOffSampler()
        : new TraceIdRatioBasedSampler(ratio);
  return prefix === undefined ? root : new ParentBasedSampler({ root });
}

/** Logs outages of the collector. Neither the exporter nor the queue would tell anybody. */
function warning(exporter: SpanExporter, log: Logger): SpanExporter {
  const outages = createOutageLog<Error | undefined>(
    {
      begin: (error) =>
        log.warn(
          { err: withoutAnswer(error) },
          'traces cannot be sent; they are dropped until the collector answers',
        ),
      end: () => log.info({}, 'traces are sent again'),
    },
    LOG_EVERY_MS,
  );
  return {
    export(spans, resultCallback) {
      exporter.export(spans, (result) => {
        if (result.code === ExportResultCode.SUCCESS) outages.succeeded();
        else outages.failed(result.error);
        resultCallback(result);
      });
    },
    forceFlush: async () => exporter.forceFlush?.(),
    shutdown: () => exporter.shutdown(),
  };
}

/** The exporter adds the body of the collector's answer, which may be long, and repeat the headers with their secrets. */
function withoutAnswer(error: Error | undefined): Error | undefined {
  if (error === undefined || !('data' in error)) return error;
  const status = 'code' in error ? `${error.code} ` : '';
  return new Error(`the collector answered ${status}${error.message}`);
}
