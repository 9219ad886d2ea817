// What deploy/, Dockerfile and compose.yaml promise: names of settings, files that exist, times that fit, few rights.
// It starts none of them: no container engine, cluster or systemd runs where the tests do.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { settingDefinitions } from '@castellan/server/settings';
import { parse } from 'yaml';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
// Manifests have too many shapes to declare; a property that is missing fails the assertion that reads it.
// biome-ignore lint/suspicious/noExplicitAny: see above
const yaml = (path: string): any => parse(read(path));

const program = 'packages/cli/castellan.mjs';
/** Of Node, however the service is started: SIGUSR1 opens no debugger, and the heap stays small. */
const nodeOptions = ['--disable-sigusr1', '--max-semi-space-size=8'];
/** Requests have 7 s after the grace period, mails and jobs 8 (docs/operate/monitor.md). */
const DRAIN_SECONDS = 15;
const DEFAULT_GRACE_SECONDS = 5;

const definitions = Object.values(settingDefinitions);
const secrets = definitions.filter(({ secret }) => secret !== null).map(({ name }) => name);
const variables = new Set([
  ...definitions.map(({ name }) => name),
  ...secrets.map((name) => `${name}_FILE`),
  'NODE_COMPILE_CACHE', // of Node.js
]);

const requireSettings = (names: readonly string[]): void => {
  assert.ok(names.length > 0);
  assert.deepEqual(
    names.filter((name) => !variables.has(name)),
    [],
    'no such setting',
  );
};

test('the systemd unit starts the packed program, and gives a stop the time it needs', () => {
  const unit = read('deploy/systemd/castellan.service');
  const valuesOf = (key: string): string[] =>
    [...unit.matchAll(new RegExp(`^${key}=(.*)$`, 'gm'))].map(([, value = '']) => value);
  const [start = ''] = valuesOf('ExecStart');
  assert.match(
    start,
    new RegExp(
      `^/opt/castellan/node_modules/\\.bin/node ${nodeOptions.join(' ')} /opt/castellan/${program} serve$`,
    ),
  );
  assert.ok(Number(valuesOf('TimeoutStopSec')[0]) >= DEFAULT_GRACE_SECONDS + DRAIN_SECONDS);
  const credentials = valuesOf('LoadCredential').map((value) => value.split(':')[0] ?? '');
  assert.ok(credentials.includes('SECRET_KEY'));
  assert.deepEqual(
    credentials.filter((name) => !secrets.includes(name)),
    [],
  );
  requireSettings(valuesOf('Environment').map((value) => value.split('=')[0] ?? ''));
});

test('every command line of ours that starts Node disables its debugger', () => {
  const { scripts } = JSON.parse(read('package.json'));
  for (const name of ['start', 'castellan'])
    assert.ok(scripts[name].includes(` ${nodeOptions.join(' ')} `), name);
  assert.ok(read('packages/cli/own-node.mjs').includes(`['${nodeOptions.join("', '")}']`));
  const files = ['Dockerfile', 'compose.yaml', ...globSync('deploy/{kubernetes,systemd}/**', { cwd: root })];
  let starts = 0;
  for (const path of files.filter((one) => /\.(ya?ml|service)$|^Dockerfile$/.test(one)))
    for (const [, next] of read(path).matchAll(/bin\/node[",]*\s+(?:- )?"?([^\s",]+)/g)) {
      assert.equal(next, '--disable-sigusr1', path);
      starts += 1;
    }
  assert.equal(starts, 4, 'unit, image, and the checks of the image and of compose.yaml');
});

test('systemd counts the unit as little exposed, where systemd-analyze is installed', () => {
  const unit = join(root, 'deploy/systemd/castellan.service');
  const { error, stdout } = spawnSync('systemd-analyze', ['security', '--offline=true', unit], {
    encoding: 'utf8',
  });
  if (error) return;
  const [, level] = /Overall exposure level[^:]*: ([\d.]+)/.exec(stdout) ?? [];
  assert.ok(Number(level) < 3, stdout.slice(-400));
});

test('the image runs the packed program as process 1, as a user without rights', () => {
  const dockerfile = read('Dockerfile');
  assert.match(
    dockerfile,
    new RegExp(
      `^ENTRYPOINT \\["[^"]+/node", "${nodeOptions.join('", "')}", "/opt/castellan/${program}"\\]$`,
      'm',
    ),
  );
  assert.match(dockerfile, /^USER [1-9]\d*:[1-9]\d*$/m);
  const [, environment = ''] = /^ENV (.*)$/m.exec(dockerfile) ?? [];
  const names = environment.split(' ').map((one) => one.split('=')[0] ?? '');
  requireSettings(names.filter((name) => name !== 'NODE_ENV'));
  for (const [, path = ''] of dockerfile.matchAll(/^COPY (?!--from)(\S+) /gm))
    assert.ok(existsSync(join(root, path)), path);
  for (const script of globSync('deploy/container/*.sh', { cwd: root }))
    execFileSync('sh', ['-n', join(root, script)]);
});

test('compose.yaml passes secrets as files, and waits for a stop', () => {
  const { services, secrets: files } = yaml('compose.yaml');
  const { environment, read_only, cap_drop, stop_grace_period } = services.castellan;
  requireSettings(Object.keys(environment));
  assert.deepEqual([read_only, cap_drop], [true, ['ALL']]);
  assert.ok(Number.parseInt(stop_grace_period, 10) >= DEFAULT_GRACE_SECONDS + DRAIN_SECONDS);
  const made = read('deploy/container/secrets.sh');
  for (const [name, value] of Object.entries<string>(environment)) {
    if (!name.endsWith('_FILE')) continue;
    const secret = value.replace('/run/secrets/', '');
    assert.ok(services.castellan.secrets.includes(secret), secret);
    assert.equal(files[secret].file, `./secrets/${secret}`);
    assert.ok(made.includes(`> secrets/${secret}`), secret);
  }
});

const base = 'deploy/kubernetes/base';

test('each folder of the Kubernetes manifests names its files, and sets what exists', () => {
  for (const path of globSync('deploy/kubernetes/**/kustomization.yaml', { cwd: root })) {
    const { resources, configMapGenerator } = yaml(path);
    for (const file of resources) assert.ok(existsSync(join(root, dirname(path), file)), file);
    for (const { literals } of configMapGenerator)
      requireSettings(literals.map((one: string) => one.split('=')[0]));
  }
  const listed = new Set(yaml(`${base}/kustomization.yaml`).resources);
  for (const path of globSync('*.yaml', { cwd: join(root, base) }))
    assert.ok(path === 'kustomization.yaml' || listed.has(path), path);
});

for (const file of ['deployment.yaml', 'migrate.yaml'])
  test(`${file}: restricted, with its secrets as files`, () => {
    const { spec: pod } = yaml(`${base}/${file}`).spec.template;
    assert.equal(pod.automountServiceAccountToken, false);
    assert.deepEqual(pod.securityContext.seccompProfile, { type: 'RuntimeDefault' });
    assert.equal(pod.securityContext.runAsNonRoot, true);
    const [container] = pod.containers;
    assert.deepEqual(container.securityContext, {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    requireSettings(container.env.map(({ name }: { name: string }) => name));
    const [{ files }] = yaml('deploy/kubernetes/overlays/production/kustomization.yaml').secretGenerator;
    const mounted = container.volumeMounts.find(({ name }: { name: string }) => name === 'secrets').mountPath;
    assert.deepEqual(
      container.env.map(({ value }: { value: string }) => value).sort(),
      files.map((name: string) => `${mounted}/${name}`).sort(),
    );
    assert.equal(pod.volumes[0].secret.defaultMode, 0o440);
  });

test('the pods of the deployment are selected by what belongs to it, and have the time to drain', () => {
  const { spec } = yaml(`${base}/deployment.yaml`);
  const { labels } = spec.template.metadata;
  assert.deepEqual(spec.selector.matchLabels, labels);
  for (const { labelSelector } of spec.template.spec.topologySpreadConstraints)
    assert.deepEqual(labelSelector.matchLabels, labels);
  assert.deepEqual(yaml(`${base}/service.yaml`).spec.selector, labels);
  assert.deepEqual(yaml(`${base}/pod-disruption-budget.yaml`).spec.selector.matchLabels, labels);
  assert.notDeepEqual(yaml(`${base}/migrate.yaml`).spec.template.metadata.labels, labels);
  const [{ literals }] = yaml(`${base}/kustomization.yaml`).configMapGenerator;
  const grace = Number(literals.find((one: string) => one.startsWith('SHUTDOWN_GRACE')).split('=')[1]);
  assert.ok(spec.template.spec.terminationGracePeriodSeconds >= grace + DRAIN_SECONDS);
  const [{ livenessProbe, readinessProbe, ports }] = spec.template.spec.containers;
  assert.equal(livenessProbe.httpGet.path, '/health/live');
  assert.equal(readinessProbe.httpGet.path, '/health/ready');
  assert.ok(readinessProbe.periodSeconds * readinessProbe.failureThreshold < grace);
  assert.equal(
    ports[0].containerPort,
    settingDefinitions.port.read(settingDefinitions.port.defaultText ?? ''),
  );
});

test('the command for the host reads the settings as systemd does, and runs nothing in them', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'castellan-settings-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'castellan.env');
  writeFileSync(file, '# Settings\n\nSERVICE_NAME=My $HOME; exit 3\nMAIL_FROM="A <a@example.com>"\nLAST=x=y');
  const [reading = ''] = read('deploy/systemd/castellan')
    .replace('/etc/castellan/castellan.env', file)
    .split(/^exec /m);
  const shown = execFileSync('sh', ['-c', `${reading}\nprintf '%s|' "$SERVICE_NAME" "$MAIL_FROM" "$LAST"`]);
  assert.equal(String(shown), 'My $HOME; exit 3|A <a@example.com>|x=y|');
  const ran = (folder: object) =>
    String(
      execFileSync('sh', ['-c', `${reading}\nprintf %s "$folder"`], { env: { ...process.env, ...folder } }),
    );
  assert.equal(ran({}), '/opt/castellan');
  assert.equal(ran({ CASTELLAN_FOLDER: '/opt/castellan-new' }), '/opt/castellan-new');
});
