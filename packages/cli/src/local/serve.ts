// `castellan serve`: runs the service.
import { serve } from '@castellan/server/main';
import type { Call } from '../command.ts';

/** Starts the service and resolves when it is ready. It then runs until a signal. */
export const serveUntilStopped = ({ values, environment }: Call): Promise<void> =>
  serve(typeof values.workers === 'string' ? { ...environment, WORKERS: values.workers } : environment);
