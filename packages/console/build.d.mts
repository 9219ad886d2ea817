/** Returns what dist/ is: `current`, `stale` or `missing`. */
export function stateOfBuild(): 'current' | 'stale' | 'missing';
/** Returns whether the tools of the build are installed. */
export function canBuild(): boolean;
/** Builds the console into dist/. Rejects if the build fails. */
export function buildConsole(): Promise<void>;
