// A process with many streams of the feed, which streams.ts drives. Its parent sends `{ open }`, how many more to open, and
// `{ changes }`, ids of changes; it is told `{ opened }`, and `{ arrivedAt }`: when each stream had each of them, in ms since 1970.
// It must not measure itself.
import { request } from 'node:http';

const { CASTELLAN_URL = '', CASTELLAN_API_KEY = '' } = process.env;
const ID = /"id":"([\da-f-]{36})"/g;
const arrivals = new Map<string, number[]>();
let told: readonly string[] | undefined;
let streams = 0;

function look(): void {
  if (!told) return;
  const times = told.map((id) => arrivals.get(id) ?? []);
  if (times.some((one) => one.length < streams)) return;
  process.send?.({ arrivedAt: times });
  told = undefined;
  arrivals.clear();
}

const openOne = (): Promise<void> =>
  new Promise((resolve, reject) => {
    const headers = { accept: 'text/event-stream', authorization: `Bearer ${CASTELLAN_API_KEY}` };
    request(`${CASTELLAN_URL}/api/v1/access/feed`, { agent: false, headers }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`the feed answered ${response.statusCode}`));
      response.setEncoding('latin1').on('data', (text: string) => {
        resolve();
        if (!text.includes('event: changes')) return;
        const now = Date.now();
        for (const [, id = ''] of text.matchAll(ID)) {
          const times = arrivals.get(id);
          if (times) times.push(now);
          else arrivals.set(id, [now]);
        }
        look();
      });
      response.once('close', () => process.exit(1));
    })
      .once('error', reject)
      .end();
  });

process.on('message', async ({ open, changes }: { open?: number; changes?: string[] }) => {
  if (open !== undefined) {
    for (let opened = 0; opened < open; opened += 20)
      await Promise.all(Array.from({ length: Math.min(20, open - opened) }, openOne));
    streams += open;
    process.send?.({ opened: streams });
  }
  if (changes) {
    told = changes;
    look();
  }
});
