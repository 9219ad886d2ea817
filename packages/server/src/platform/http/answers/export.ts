// Streams every record of a list as a file, NDJSON or CSV, in batches. It must not hold more than two batches in memory.
import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import Type from 'typebox';
import { AppError } from '../../errors.ts';
import type { FairGate } from '../../limits/fair-gate.ts';
import type { Leave } from '../../limits/gate.ts';
import { jsonLine } from '../../logging/json-line.ts';
import { preferredType, vary } from '../accept.ts';
import { CSV_TYPE, csvRecord } from './csv.ts';

/** What all exports of this process share. */
export type Exports = {
  /** How many run at once: of one user, and in all. */
  gate: FairGate;
  /** How long the reader may take for one batch, in milliseconds. Read when an export begins. */
  maxStallMs: number;
};

/** The media types of an export. The first one is the default. */
export const exportTypes = ['application/x-ndjson', 'text/csv'] as const;

/** The response of an export, for the schema of its route. */
export const exportResponse = {
  content: {
    'application/x-ndjson': { schema: Type.String() },
    'text/csv': { schema: Type.String() },
  },
};

/** The query of an export, besides its filters. */
export const ExportQuery = Type.Object({
  bom: Type.Optional(
    Type.Boolean({
      description:
        'Begins CSV with a byte order mark, without which some spreadsheets misread UTF-8. NDJSON never has one.',
    }),
  ),
});

/** What every export does, for the description of its route. */
export const exportDescription =
  'One JSON object per line (NDJSON), or, with `Accept: text/csv`, CSV (RFC 4180) with a header row. In CSV, an apostrophe leads a cell that begins with `=`, `+`, `-` or `@`, and such a character after a semicolon, a tab or a line break, because a spreadsheet would run it as a formula. Four exports run at once in one instance, and two of one user: one while others wait. Further ones wait for 5 s; then the response is 503. Read without long pauses: an export whose reader takes nothing for 30 s is cut off, without the end of the chunked response, so that it does not pass for a complete one.';

export type ExportSource<R> = {
  /** Reads the records after this one, in order; from the start without one. At most `batch`; fewer are the last ones. */
  read(after: R | undefined): Promise<readonly R[]>;
  /** Maximum records of one call of `read`. Building their text must take only a few milliseconds. */
  batch: number;
};

export type ExportOptions<R> = {
  exports: Exports;
  /** Id of the caller, who takes a turn. */
  callerId: string;
  /** The name of the file without its extension. */
  fileName: string;
  source: ExportSource<R>;
  /** Returns what a line of NDJSON shows of a record. */
  objectOf(record: R): object;
  csv: { columns: readonly string[]; cellsOf(record: R): readonly (string | boolean | null)[] };
};

/**
 * Sends the records, each as it is when the export reads it. Reads the first batch before it answers, so that an
 * invalid filter or an unavailable database gets an error response. Throws `overloaded` if no turn is free in time.
 * Resolves when the response has ended.
 */
export async function sendExport<R>(
  request: FastifyRequest<{ Querystring: { bom?: boolean } }>,
  reply: FastifyReply,
  options: ExportOptions<R>,
): Promise<void> {
  vary(reply, 'accept');
  const isCsv = preferredType(exportTypes, request.headers.accept) === 'text/csv';
  const leave = await takeTurn(request, options);
  const first = await options.source.read(undefined).catch((error: unknown) => {
    leave();
    throw error;
  });
  const mark = request.query.bom ? '\uFEFF' : '';
  await sendText(request, reply, {
    text: isCsv ? csvOf(options, first, mark) : ndjsonOf(options, first),
    leave,
    maxStallMs: options.exports.maxStallMs,
    fileName: `${options.fileName}.${isCsv ? 'csv' : 'ndjson'}`,
    type: isCsv ? CSV_TYPE : 'application/x-ndjson',
  });
}

export type DocumentOptions = Pick<ExportOptions<never>, 'exports' | 'callerId' | 'fileName'> & {
  /** Called when the export has its turn. An error that it throws gets an error response. */
  begin(): Promise<AsyncIterable<string>>;
};

/** Sends one JSON document, in the parts of its text, as `sendExport` sends records. Throws `overloaded` and what `begin` throws. */
export async function sendDocument(
  request: FastifyRequest,
  reply: FastifyReply,
  options: DocumentOptions,
): Promise<void> {
  const leave = await takeTurn(request, options);
  const text = await options.begin().catch((error: unknown) => {
    leave();
    throw error;
  });
  await sendText(request, reply, {
    text,
    leave,
    maxStallMs: options.exports.maxStallMs,
    fileName: `${options.fileName}.json`,
    type: 'application/json; charset=utf-8',
  });
}

type Sending = {
  text: AsyncIterable<string>;
  leave: Leave;
  maxStallMs: number;
  fileName: string;
  type: string;
};

/** Sends the parts of a file as they are read, and then leaves the turn. Resolves when the response has ended. */
async function sendText(
  request: FastifyRequest,
  reply: FastifyReply,
  { text, leave, maxStallMs, fileName, type }: Sending,
): Promise<void> {
  // `highWaterMark` 1 reads one batch ahead of a slow reader instead of 16.
  const stream = Readable.from(
    untilStalled(text, maxStallMs, (error) => stream.destroy(error)),
    { highWaterMark: 1 },
  ).once('close', leave);
  stream.once('error', (error) => {
    request.log.warn({ err: error }, 'an export was cut off');
    // HTTP/1.0 has no chunks: a reader would take the end of the connection for the end of the file.
    if (request.raw.httpVersion === '1.0') reply.raw.socket?.resetAndDestroy();
  });
  reply.header('content-disposition', `attachment; filename="${fileName}"`);
  // Not awaiting it would make Fastify send an empty response for a handler that returns nothing.
  await reply.type(type).send(stream);
}

/** How long an export waits for its turn. */
const MAX_WAIT_MS = 5_000;

/** Takes a turn for one export. Throws `overloaded` when none is free in time, or too many wait. */
async function takeTurn(
  request: FastifyRequest,
  { exports, callerId }: Pick<ExportOptions<never>, 'exports' | 'callerId'>,
): Promise<Leave> {
  const late = AbortSignal.timeout(MAX_WAIT_MS);
  try {
    return await exports.gate.enter(callerId, AbortSignal.any([request.client.gone, late]));
  } catch (error) {
    throw late.aborted ? new AppError('overloaded', { retryAfterSeconds: 5 }) : error;
  }
}

/** Returns the parts. Calls `stalled` if one is not taken in time, because an export holds its turn until it is read. */
async function* untilStalled(
  parts: AsyncIterable<string>,
  maxStallMs: number,
  stalled: (error: Error) => void,
): AsyncGenerator<string, void> {
  for await (const part of parts) {
    const timer = setTimeout(() => {
      stalled(new Error(`the client read nothing of the export for ${maxStallMs / 1_000} s`));
    }, maxStallMs);
    try {
      yield part;
    } finally {
      clearTimeout(timer);
    }
  }
}

async function* ndjsonOf<R>(
  { source, objectOf }: ExportOptions<R>,
  first: readonly R[],
): AsyncGenerator<string, void> {
  for await (const batch of batchesOf(source, first))
    yield batch.map((record) => `${jsonLine(objectOf(record))}\n`).join('');
}

async function* csvOf<R>(
  { source, csv }: ExportOptions<R>,
  first: readonly R[],
  mark: string,
): AsyncGenerator<string, void> {
  yield mark + csvRecord(csv.columns);
  for await (const batch of batchesOf(source, first))
    yield batch.map((record) => csvRecord(csv.cellsOf(record))).join('');
}

/** Yields the batches, beginning with the first; none is empty. */
async function* batchesOf<R>(
  { read, batch }: ExportSource<R>,
  first: readonly R[],
): AsyncGenerator<readonly R[], void> {
  for (let records = first; ; ) {
    const last = records.at(-1);
    if (last === undefined) return;
    yield records;
    if (records.length < batch) return;
    // Other requests run between two batches.
    await nextTurn();
    records = await read(last);
  }
}
