// Reads the text format of Prometheus, as far as the service writes it. It knows no metric.
import assert from 'node:assert/strict';
import { request } from 'node:http';

type Sample = { name: string; labels: Record<string, string>; value: number };
export type Scrape = { samples: Sample[]; types: Map<string, string> };

const line = /^([a-z_:][a-z0-9_:]*)(?:\{(.*)\})? (\S+)$/i;

export function parseMetrics(text: string): Scrape {
  const samples: Sample[] = [];
  const types = new Map<string, string>();
  for (const one of text.split('\n')) {
    const [, typed = '', type = ''] = /^# TYPE (\S+) (\S+)$/.exec(one) ?? [];
    if (typed !== '') {
      assert.ok(!types.has(typed), `${typed} is declared twice`);
      types.set(typed, type);
    }
    if (one === '' || one.startsWith('#')) continue;
    const [, name = '', inner = '', value] = line.exec(one) ?? [];
    assert.ok(name !== '', `not a sample: ${one}`);
    const labels = Object.fromEntries(
      [...inner.matchAll(/([a-z_]+)="((?:[^"\\]|\\.)*)"/g)].map(([, label, text = '']) => [label, text]),
    );
    samples.push({ name, labels, value: Number(value) });
  }
  return { samples, types };
}

/** Returns the value of the only sample with these labels; undefined if there is none. */
export function sampleOf(
  { samples }: Scrape,
  name: string,
  labels: Record<string, string> = {},
): number | undefined {
  const found = samples.filter(
    (one) => one.name === name && Object.entries(labels).every(([label, text]) => one.labels[label] === text),
  );
  assert.ok(found.length <= 1, `${found.length} samples of ${name}`);
  return found[0]?.value;
}

export type SocketAnswer = { status: number; headers: NodeJS.Dict<string | string[]>; text: string };

/** Sends a request to a Unix socket. */
export const askSocket = (socketPath: string, path = '/metrics', method = 'GET'): Promise<SocketAnswer> =>
  new Promise((resolve, reject) => {
    request({ socketPath, path, method }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      response.once('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text }),
      );
    })
      .once('error', reject)
      .end();
  });
