// `castellan serve`: runs the service.
import { serve } from '@castellan/server/main';

/** Starts the service and resolves when it is ready. It then runs until a signal. */
export const serveUntilStopped = serve;
