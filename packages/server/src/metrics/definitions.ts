// Every metric of the service itself; prom-client adds those of the process. docs/metrics.md is generated from it.
import { databaseMetrics } from './database-metrics.ts';
import type { Definition } from './definition.ts';
import { requestMetrics } from './request-metrics.ts';
import { workMetrics } from './work-metrics.ts';

export const definitions: readonly Definition[] = [...requestMetrics, ...databaseMetrics, ...workMetrics];
