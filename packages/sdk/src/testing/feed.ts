// The feed of changes of the stand-in: streams of messages as those of the service (GET /api/v1/access/feed).
// It must tell every change before it says that it has told everything.

export type FeedChange =
  | { type: 'session' | 'token' | 'user' | 'service_account'; id: string }
  | { type: 'graph'; id: string; role_ids: readonly string[]; permission_ids: readonly string[] };

type Stream = {
  controller: ReadableStreamDefaultController<Uint8Array>;
  arrivedAt: number;
  /** How many changes it has told. */
  told: number;
  /** Whether its reader has done with everything that was sent. */
  isTaken: boolean;
};

const BEAT_MS = 1_000;
/** A guard takes what it is sent in fewer. Somebody else may leave it for ever. */
const MOST_TURNS = 100;
const encoder = new TextEncoder();

export class Feed {
  readonly #stamp = crypto.randomUUID();
  readonly #log: FeedChange[] = [];
  readonly #streams = new Set<Stream>();
  #beats: ReturnType<typeof setInterval> | undefined;
  #isSilent = false;

  changed(...changes: FeedChange[]): void {
    this.#log.push(...changes);
    for (const stream of this.#streams) this.#tell(stream);
  }

  /** Says nothing more on any stream, and leaves them open, until `speak`. */
  silence(): void {
    this.#isSilent = true;
  }

  speak(): void {
    this.#isSilent = false;
    this.#beat();
  }

  /** Whether every guard has done with everything that was sent. */
  get isTaken(): boolean {
    return [...this.#streams].every((stream) => stream.isTaken);
  }

  /** Lets guards take what they were sent. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < MOST_TURNS && !this.isTaken; turn += 1) await undefined;
  }

  /** Ends every stream, as a lost connection does. */
  cut(): void {
    for (const stream of [...this.#streams]) {
      stream.controller.error(new TypeError('terminated'));
      this.#remove(stream);
    }
  }

  /** Returns the answer to a request that goes on after `cursor`, if it is one of this feed. */
  open(cursor: string | null): Response {
    const [seq, stamp] = cursor?.split('.') ?? [];
    const resumed = stamp === this.#stamp;
    let opened: Stream | undefined;
    const source: UnderlyingDefaultSource<Uint8Array> = {
      start: (controller) => {
        const told = resumed ? Number(seq) : this.#log.length;
        const stream = { controller, arrivedAt: performance.now(), told, isTaken: true };
        opened = stream;
        this.#streams.add(stream);
        this.#beats ??= setInterval(() => this.#beat(), BEAT_MS);
        this.#send(stream, 'hello', { beat_ms: BEAT_MS, live: true, resumed });
        this.#tell(stream);
      },
      // Is called when the reader waits for more, and there is nothing.
      pull: () => {
        if (opened) opened.isTaken = true;
      },
      cancel: () => {
        if (opened) this.#remove(opened);
      },
    };
    const body = new ReadableStream(source, { highWaterMark: 0 });
    return new Response(body, { headers: { 'content-type': 'text/event-stream; charset=utf-8' } });
  }

  #beat(): void {
    for (const stream of this.#streams) {
      this.#tell(stream);
      this.#send(stream, 'beat', { live: true });
    }
  }

  #tell(stream: Stream): void {
    const changes = this.#log.slice(stream.told);
    if (this.#isSilent || changes.length === 0) return;
    stream.told = this.#log.length;
    this.#send(stream, 'changes', { changes });
  }

  #send(stream: Stream, event: string, data: object): void {
    if (this.#isSilent) return;
    const { controller, arrivedAt, told } = stream;
    stream.isTaken = false;
    // Of what a stream has not told yet, it must not say that it is complete.
    const at = told === this.#log.length ? Math.floor(performance.now() - arrivedAt) : -86_400_000;
    const text = `event: ${event}\nid: ${told}.${this.#stamp}\ndata: ${JSON.stringify({ at, ...data })}\n\n`;
    controller.enqueue(encoder.encode(text));
  }

  #remove(stream: Stream): void {
    this.#streams.delete(stream);
    if (this.#streams.size > 0) return;
    clearInterval(this.#beats);
    this.#beats = undefined;
  }
}
