// Loads the SDK from its sources, because its dist/ exists only after a build. Nothing else loads it.
import type * as Sdk from '@castellan/sdk';

/** Loads it when a command needs it: it costs more than help. */
export const loadSdk = (): Promise<typeof Sdk> =>
  import(new URL('src/index.ts', import.meta.resolve('@castellan/sdk/package.json')).href);
