/** Makes the files unless they are there and current. Rejects if the bundler is missing, as after `npm ci --omit=dev`. */
export function bundleProgram(): Promise<void>;
