// The OpenAPI document of everything that is registered after it.
// It must not describe anything by hand that a route declares.
import swagger from '@fastify/swagger';
import type { App } from './server.ts';

export async function addReference(app: App, options: { publicUrl: string }): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'Castellan', version: '0.1.0' },
      servers: [{ url: options.publicUrl }],
    },
  });
}
