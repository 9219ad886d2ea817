// An endpoint of webhooks that remembers what it got, and answers as a test says. It must not verify: tests do.
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { eventually } from '../harness.ts';
import { portOf } from '../ports.ts';

export type Received = {
  headers: IncomingHttpHeaders;
  body: string;
  event: {
    type: string;
    timestamp: string;
    data: {
      id: string;
      version: number;
      sequence: number;
      replay: boolean;
      test?: boolean;
      actor: { type: string; id: string; email?: string } | null;
      resource: { type: string; id: string; name?: string };
      details: Record<string, unknown>;
    };
  };
};

type Answer = number | ((response: ServerResponse, received: Received) => void | Promise<void>);

export type Receiver = {
  url: string;
  received: Received[];
  /** Answers every event from now on. A number is a status. */
  answer: (received: Received) => Answer;
  /** Resolves when so many have arrived that meet the condition. */
  until(count: number, meets?: (one: Received) => boolean): Promise<Received[]>;
};

export async function startReceiver(t: { after(hook: () => Promise<void>): void }): Promise<Receiver> {
  const receiver: Receiver = {
    url: '',
    received: [],
    answer: () => 204,
    async until(count, meets = () => true) {
      return eventually(() => {
        const met = receiver.received.filter(meets);
        return met.length >= count ? met : undefined;
      }, `${count} events`);
    },
  };
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const part of request.setEncoding('utf8')) body += part;
    const one: Received = { headers: request.headers, body, event: JSON.parse(body) };
    receiver.received.push(one);
    const answer = receiver.answer(one);
    if (typeof answer === 'number') response.writeHead(answer).end();
    else await answer(response, one);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(async () => {
    server.closeAllConnections();
    server.close();
  });
  receiver.url = `http://127.0.0.1:${portOf(server)}/events`;
  return receiver;
}
