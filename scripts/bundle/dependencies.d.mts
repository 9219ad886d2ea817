/** Makes the files unless they are there. Rejects if the bundler is missing, as after `npm ci --omit=dev`. */
export function bundleDependencies(): Promise<void>;
