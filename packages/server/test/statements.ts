// Counts the SQL statements that requests cost, by listening at the driver.
// It must not count what the service does in the background, and it changes nothing that is sent.
import pg from 'pg';
import type { TestService } from './harness.ts';

// The mail worker and the periodic jobs come when they will; only requests put mails into the outbox.
const background = /\bjob_schedule\b|^(?!\s*insert into outbox).*\boutbox\b/s;

/** Texts of the statements that `run` made the processes of this test send, in order; transaction control included. */
export async function statementsOf(run: () => Promise<unknown>): Promise<string[]> {
  const texts: string[] = [];
  const { query } = pg.Client.prototype;
  pg.Client.prototype.query = function listening(this: pg.Client, ...args: unknown[]) {
    const [first] = args;
    const text = typeof first === 'string' ? first : String((first as { text?: string }).text);
    if (!background.test(text)) texts.push(text);
    return (query as (...all: unknown[]) => unknown).apply(this, args);
  } as typeof query;
  try {
    await run();
  } finally {
    pg.Client.prototype.query = query;
  }
  return texts;
}

/** How many statements one request costs when the graph of rights is compiled already. */
export async function countStatements(
  service: TestService,
  request: () => Promise<{ status: number; text: string }>,
): Promise<number> {
  await compileGraph(service);
  const texts = await statementsOf(async () => {
    const answer = await request();
    if (answer.status >= 300) throw new Error(`answered ${answer.status}: ${answer.text}`);
  });
  return texts.length;
}

/** Reads it once, so that no request that follows has to. */
async function compileGraph(service: TestService): Promise<void> {
  const [{ version } = { version: '0' }] = await service.sql<{ version: string }>(
    'select version::text from authz_version',
  );
  await service.service.deps.graphSource.at(version);
}
