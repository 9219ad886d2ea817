// Builds the console before the service starts, in a working tree in which it is missing or older than its sources.
// It must not keep the service from starting: the API works without the console.
import { buildConsole, canBuild, stateOfBuild } from '@castellan/console/build';
import { errorMessage } from '../platform/unknown-values.ts';

type Write = (text: string) => void;

type Builder = {
  stateOfBuild: () => 'current' | 'stale' | 'missing';
  canBuild: () => boolean;
  buildConsole: () => Promise<void>;
};

const builder: Builder = { stateOfBuild, canBuild, buildConsole };

/** Resolves when the console is built, or when it is known that it cannot be. Logs what it does, and what to do. */
export async function prepareConsole(
  log: { info: Write; warn: Write },
  { stateOfBuild, canBuild, buildConsole }: Builder = builder,
): Promise<void> {
  const state = stateOfBuild();
  if (state === 'current') return;
  const what = state === 'missing' ? 'The console is not built.' : 'The console is older than its sources.';
  if (!canBuild()) {
    log.warn(`${what} Its tools are development dependencies: run npm ci, which builds it.`);
    return;
  }
  log.info(`${what} Building it.`);
  try {
    await buildConsole();
  } catch (error) {
    log.warn(`The console could not be built: ${errorMessage(error)} Run npm run build to see why.`);
  }
}
