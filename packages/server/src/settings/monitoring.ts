// Settings: what an operator sees of it.
import { choice, flag, list, number, optional, setting, text, url } from '../platform/config/config.ts';
import { parseMetricsAddress } from '../platform/metrics/address.ts';
import { parseMetricsHost } from '../platform/metrics/hosts.ts';
import { parseHeaders, samplers } from '../platform/tracing/settings.ts';

export const monitoringSettings = {
  logLevel: setting(
    'LOG_LEVEL',
    choice('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'),
    'Lowest level that is logged.',
    { default: 'info' },
  ),
  metricsAddress: setting(
    'METRICS_ADDRESS',
    optional(parseMetricsAddress),
    'Where `GET /metrics` is served for Prometheus: `127.0.0.1:9464`, `:9464` for every interface, or `unix:/path/of/socket`. It asks for no credentials: only the scraper should reach it. See docs/operate/monitor.md.',
    { shown: 'off' },
  ),
  metricsHosts: setting(
    'METRICS_HOSTS',
    list(parseMetricsHost),
    'Further host names, comma-separated, by which a scraper may ask for metrics. An IP address, `localhost`, a name without a dot and the host of `PUBLIC_URL` always count; any other name is refused.',
    { default: '', shown: 'none' },
  ),
  otelEndpoint: setting(
    'OTEL_EXPORTER_OTLP_ENDPOINT',
    optional(url(['http:', 'https:'])),
    'Collector of OpenTelemetry for traces, by OTLP over HTTP: `http://127.0.0.1:4318`. `/v1/traces` is added. See docs/operate/tracing.md.',
    { shown: 'off', secret: 'path' },
  ),
  otelHeaders: setting(
    'OTEL_EXPORTER_OTLP_HEADERS',
    parseHeaders,
    'Headers for the collector, such as its key: `name=value`, comma-separated, values percent-encoded.',
    { default: '', shown: 'none', secret: 'value' },
  ),
  otelServiceName: setting('OTEL_SERVICE_NAME', text, 'Name of the service in traces.', {
    default: 'castellan',
  }),
  otelSampler: setting(
    'OTEL_TRACES_SAMPLER',
    choice(...samplers),
    'Which traces are kept: `always_on`, `always_off` or `traceidratio`; with `parentbased_` before it, a proxy of `TRUSTED_PROXIES` decides by its `traceparent`.',
    { default: 'parentbased_always_on' },
  ),
  otelSamplerArg: setting(
    'OTEL_TRACES_SAMPLER_ARG',
    number(0, 1),
    'Share of the traces that `traceidratio` keeps, 0 to 1.',
    { default: '1' },
  ),
  otelDisabled: setting('OTEL_SDK_DISABLED', flag, 'Turns traces off, whatever the other settings say.', {
    default: 'false',
  }),
};
