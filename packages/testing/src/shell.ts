// Runs blocks of the documentation in bash.
import { spawn } from 'node:child_process';

/** Runs the script, by default with `-euo pipefail`. Returns the exit status, and both outputs in one text. */
export function runShell(
  script: string,
  environment: Record<string, string>,
  options = ['-euo', 'pipefail'],
): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve) => {
    const shell = spawn('bash', options, {
      env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '/', ...environment },
    });
    let output = '';
    shell.stdout.on('data', (data) => {
      output += data;
    });
    shell.stderr.on('data', (data) => {
      output += data;
    });
    shell.on('close', (code) => resolve({ code, output }));
    shell.stdin.end(script);
  });
}
