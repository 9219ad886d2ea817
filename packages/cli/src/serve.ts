// `castellan serve`.
import { serve } from '@castellan/server/main';

/** Resolves when the service is up; it then lives until a signal. */
export const serveUntilStopped = serve;
