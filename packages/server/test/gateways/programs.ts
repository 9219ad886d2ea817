// Starts the gateways with the very files of deploy/gateways, on other ports and in a folder of their own.
// It must not change what a recipe says: it replaces addresses and paths, and adds what a distribution's main file has.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { eventually, type Hooks } from '@castellan/testing/harness';
import { freePort } from '@castellan/testing/ports';

const recipes = fileURLToPath(new URL('../../../../deploy/gateways', import.meta.url));
const isRoot = process.getuid?.() === 0;

/** Where a gateway listens, where it asks, and where it forwards to. */
export type Ports = { gateway: number; castellan: number; product: number };

export type Program = {
  name: string;
  /** What the recipe needs, as absolute paths. Without one of them, it is not tested. */
  needs: readonly string[];
  /** The Debian packages that bring it. */
  packages: string;
  /** Writes the files into the folder, and returns the command. */
  prepare(folder: string, ports: Ports): Promise<readonly string[]>;
};

/** Returns a file of deploy/gateways with replacements, each of which must occur. */
function recipe(name: string, replacements: Record<string, string>): string {
  let text = readFileSync(join(recipes, name), 'utf8');
  for (const [from, to] of Object.entries(replacements)) {
    assert.ok(text.includes(from), `${name} has no ${from}`);
    text = text.replaceAll(from, to);
  }
  return text;
}

const addresses = ({ gateway, castellan, product }: Ports): Record<string, string> => ({
  '127.0.0.1:8080': `127.0.0.1:${gateway}`,
  '127.0.0.1:8000': `127.0.0.1:${castellan}`,
  '127.0.0.1:9000': `127.0.0.1:${product}`,
});

const nginx: Program = {
  name: 'nginx',
  needs: ['/usr/sbin/nginx'],
  packages: 'nginx',
  async prepare(folder, ports) {
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      (name) => `${name}_temp_path ${folder}/${name};`,
    );
    await writeFile(
      join(folder, 'nginx.conf'),
      `daemon off; pid ${folder}/pid; error_log stderr; events {}
http { access_log off; ${temporary.join(' ')} include ${folder}/orders.conf; }`,
    );
    await writeFile(join(folder, 'orders.conf'), recipe('nginx.conf', addresses(ports)));
    return ['/usr/sbin/nginx', '-p', folder, '-c', join(folder, 'nginx.conf'), '-e', 'stderr'];
  },
};

const caddy: Program = {
  name: 'Caddy',
  needs: ['/usr/bin/caddy'],
  packages: 'caddy',
  async prepare(folder, ports) {
    const { '127.0.0.1:8080': _, ...others } = addresses(ports);
    const text = recipe('Caddyfile', { ':8080 {': `:${ports.gateway} {`, ...others });
    await writeFile(join(folder, 'Caddyfile'), `{\n\tadmin off\n\tauto_https off\n}\n${text}`);
    return ['/usr/bin/caddy', 'run', '--adapter', 'caddyfile', '--config', join(folder, 'Caddyfile')];
  },
};

const haproxy: Program = {
  name: 'HAProxy',
  needs: ['/usr/sbin/haproxy'],
  packages: 'haproxy',
  async prepare(folder, ports) {
    const script = join(folder, 'castellan.lua');
    await writeFile(script, recipe('castellan.lua', {}));
    const text = recipe('haproxy.cfg', { '/etc/haproxy/castellan.lua': script, ...addresses(ports) });
    await writeFile(join(folder, 'haproxy.cfg'), text);
    return ['/usr/sbin/haproxy', '-db', '-f', join(folder, 'haproxy.cfg')];
  },
};

/** Those of Debian's main file, and those that the recipe names. */
const apacheModules = ['mpm_event', 'authz_core', 'setenvif', 'lua', 'proxy', 'proxy_http'];
const apache: Program = {
  name: 'Apache',
  needs: ['/usr/sbin/apache2', '/usr/share/lua/5.3/socket.lua'],
  packages: 'apache2 lua-socket',
  async prepare(folder, ports) {
    const script = join(folder, 'castellan.lua');
    await writeFile(script, recipe('castellan.lua', {}));
    const { '127.0.0.1:8000': _, ...others } = addresses(ports);
    const text = recipe('apache.conf', {
      '/etc/apache2/castellan.lua': script,
      'castellan_port=8000': `castellan_port=${ports.castellan}`,
      ...others,
    });
    await writeFile(join(folder, 'orders.conf'), text);
    const loads = apacheModules.map(
      (name) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`,
    );
    // Debian's main file denies every path that nothing allows.
    const main = [
      ...loads,
      `PidFile ${folder}/pid`,
      `DefaultRuntimeDir ${folder}`,
      'ServerName castellan.test',
      `ErrorLog ${folder}/error.log`,
      ...(isRoot ? ['User www-data', 'Group www-data'] : []),
      '<Directory />\nRequire all denied\n</Directory>',
      `Include ${folder}/orders.conf`,
    ];
    await writeFile(join(folder, 'apache2.conf'), `${main.join('\n')}\n`);
    return ['/usr/sbin/apache2', '-DFOREGROUND', '-d', folder, '-f', join(folder, 'apache2.conf')];
  },
};

export const programs: readonly Program[] = [nginx, caddy, haproxy, apache];

/** Returns what is missing, or undefined. In CI nothing may be: the start fails there. */
export function missingOf({ needs, packages }: Program): string | undefined {
  if (process.env.CI !== undefined) return undefined;
  const missing = needs.filter((path) => !existsSync(path));
  if (missing.length === 0) return undefined;
  return `${missing.join(', ')} is missing: apt-get install --no-install-recommends ${packages}`;
}

/** Starts the program, waits until it listens, and returns its port. It ends with the test. */
export async function startGateway(
  t: Hooks,
  program: Program,
  others: Omit<Ports, 'gateway'>,
): Promise<number> {
  // Programs that root starts read it as another user, who cannot look into the folder of a run.
  const folder = await mkdtemp(join(isRoot ? '/tmp' : tmpdir(), 'castellan-gateway-'));
  await chmod(folder, 0o755);
  const gateway = await freePort();
  const [command = '', ...rest] = await program.prepare(folder, { gateway, ...others });
  const child = spawn(command, rest, {
    env: { PATH: process.env.PATH, HOME: folder },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let complaints = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaints += text;
  });
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', (error) => {
      complaints += error.message;
      resolve();
    });
  });
  let isOver = false;
  void ended.then(() => {
    isOver = true;
  });
  t.after(async () => {
    child.kill();
    await ended;
    await rm(folder, { recursive: true, force: true });
  });
  await eventually(async () => {
    if (isOver) throw new Error(`${program.name} ended: ${complaints}`);
    return (await listens(gateway)) || undefined;
  }, `${program.name} to listen`);
  return gateway;
}

const listens = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
