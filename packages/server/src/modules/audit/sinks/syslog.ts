// Sends records to a syslog server over TLS: RFC 5424 messages with octet counting (RFC 5425).

import { isIP } from 'node:net';
import { hostname } from 'node:os';
import { connect, type SecureContextOptions } from 'node:tls';
import { HEAD_TYPE, SEND_TIMEOUT_MS, type Sink, SinkError, type SinkHead, type SinkRecord } from './sink.ts';

// Facility 13, "log audit"; severity 4 (warning) for failures, else 5 (notice).
const FACILITY = 13;
// 32473 is the enterprise number for examples (RFC 5612); Castellan has none of its own.
const STRUCTURED_DATA_ID = 'castellan@32473';

const printable = (text: string, max: number): string => {
  const clean = text.replace(/[^\x21-\x7e]/g, '').slice(0, max);
  return clean === '' ? '-' : clean;
};

const escapeParameter = (text: string): string =>
  text.replace(/\p{Cc}+/gu, ' ').replace(/["\\\]]/g, (character) => `\\${character}`);

/** ASCII, so that receivers need not know its encoding. */
const asciiJson = (content: object): string =>
  JSON.stringify(content).replace(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

/** Returns a message without its length. */
export function syslogMessage({ time, name, isFailure, facts, content }: SinkRecord, host: string): string {
  const priority = FACILITY * 8 + (isFailure ? 4 : 5);
  const data = Object.entries(facts).map(([key, value]) => ` ${key}="${escapeParameter(value)}"`);
  const head = `<${priority}>1 ${time} ${printable(host, 255)} castellan ${process.pid} ${printable(name, 32)}`;
  return `${head} [${STRUCTURED_DATA_ID}${data.join('')}] ${asciiJson(content)}`;
}

/**
 * Opens a connection for each batch. Syslog has no answers: the batch counts as received when the server, having read it
 * to the end, closes the connection without an error.
 */
export function createSyslogSink(
  address: { host: string; port: number },
  tls: Pick<SecureContextOptions, 'ca'> = {},
): Sink {
  const host = hostname();
  const servername = isIP(address.host) === 0 ? { servername: address.host } : {};
  const send: Sink['send'] = (records) =>
    new Promise((resolve, reject) => {
      const messages = records.map((record) => {
        const message = syslogMessage(record, host);
        return `${Buffer.byteLength(message)} ${message}`;
      });
      const socket = connect({
        ...address,
        ...servername,
        ...tls,
        minVersion: 'TLSv1.2',
        rejectUnauthorized: true,
      });
      const late = setTimeout(
        () => socket.destroy(new SinkError('the syslog server did not take the entries in time')),
        SEND_TIMEOUT_MS,
      );
      let failure: Error | undefined;
      let isWritten = false;
      socket.once('secureConnect', () =>
        socket.end(messages.join(''), () => {
          isWritten = true;
        }),
      );
      // Nothing is expected; reading is what notices the end.
      socket.resume();
      socket.once('error', (error) => {
        failure = error;
      });
      socket.once('close', () => {
        clearTimeout(late);
        if (failure) reject(failure);
        else if (isWritten) resolve();
        else reject(new SinkError('the syslog server closed the connection'));
      });
    });
  return { send, sendHead: (head) => send([recordOfHead(head)]) };
}

const recordOfHead = (head: SinkHead): SinkRecord => ({
  id: `${head.origin} ${head.seals}`,
  time: new Date().toISOString(),
  name: HEAD_TYPE,
  isFailure: false,
  facts: { origin: head.origin, seals: String(head.seals), root: head.root },
  content: head,
});
