// Keeps what oidc-provider stores, in memory. Consuming is atomic, as the library asks of every adapter.

type Payload = Record<string, unknown> & {
  iat?: number;
  exp?: number;
  consumed?: number;
  uid?: string;
  grantId?: string;
};

/** Returns the class that the library constructs for each model, and a function that lets codes grow older. */
export function memoryAdapter() {
  const stored = new Map<string, Payload>();

  class Adapter {
    readonly model: string;
    constructor(model: string) {
      this.model = model;
    }
    async upsert(id: string, payload: Payload): Promise<void> {
      stored.set(`${this.model}:${id}`, payload);
    }
    async find(id: string): Promise<Payload | undefined> {
      return stored.get(`${this.model}:${id}`);
    }
    async findByUid(uid: string): Promise<Payload | undefined> {
      for (const [key, payload] of stored)
        if (key.startsWith(`${this.model}:`) && payload.uid === uid) return payload;
      return undefined;
    }
    async findByUserCode(): Promise<undefined> {
      return undefined;
    }
    async consume(id: string): Promise<void> {
      const payload = stored.get(`${this.model}:${id}`);
      if (payload) payload.consumed = Math.floor(Date.now() / 1_000);
    }
    async destroy(id: string): Promise<void> {
      stored.delete(`${this.model}:${id}`);
    }
    async revokeByGrantId(grantId: string): Promise<void> {
      for (const [key, payload] of stored) if (payload.grantId === grantId) stored.delete(key);
    }
  }

  function age(seconds: number): void {
    for (const [key, payload] of stored) {
      if (!/^(AuthorizationCode|AccessToken|RefreshToken):/.test(key)) continue;
      for (const field of ['iat', 'exp', 'consumed'] as const)
        if (payload[field] !== undefined) payload[field] -= seconds;
    }
  }

  return { adapter: Adapter, age };
}
