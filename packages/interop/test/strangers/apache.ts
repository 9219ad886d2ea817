// Apache with mod_auth_openidc, as Debian has both, in front of one page that tells who asked for it.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually, type Hooks } from '@castellan/testing/harness';
import type { Provider } from '../providers/provider.ts';
import { missingPackages } from './missing.ts';

const APACHE = '/usr/sbin/apache2';
const MODULES = '/usr/lib/apache2/modules';
const modules = ['mpm_event', 'authn_core', 'authz_core', 'authz_user', 'dir', 'headers', 'auth_openidc'];
const isRoot = process.getuid?.() === 0;

export const skip = missingPackages(
  existsSync(APACHE) && existsSync(`${MODULES}/mod_auth_openidc.so`),
  'apache2 libapache2-mod-auth-openidc',
);

/** Paths of the module; they exist nowhere else. */
export const CALLBACK_PATH = '/signed-in';
export const BACKCHANNEL_PATH = `${CALLBACK_PATH}?logout=backchannel`;

/**
 * Starts Apache until `t` ends. Every path but /public/ needs a sign-in; answers have the email in X-Email and the access token in X-Token.
 */
export async function startApache(t: Hooks, provider: Provider, port: number): Promise<string> {
  // A server that root starts runs as another user, who cannot look into the folder of a run.
  const folder = await mkdtemp(join(isRoot ? '/tmp' : tmpdir(), 'castellan-apache-'));
  await chmod(folder, 0o755);
  const origin = `http://127.0.0.1:${port}`;
  await writeFile(join(folder, 'index.html'), 'page');
  const { client_id: id, client_secret: secret } = provider.application;
  const configuration = `
${modules.map((name) => `LoadModule ${name}_module ${MODULES}/mod_${name}.so`).join('\n')}
PidFile ${folder}/pid
DefaultRuntimeDir ${folder}
ServerName 127.0.0.1
ErrorLog ${folder}/error.log
${isRoot ? 'User www-data\nGroup www-data' : ''}
Listen 127.0.0.1:${port}
DocumentRoot ${folder}
OIDCProviderMetadataURL ${provider.issuer}/.well-known/openid-configuration
OIDCClientID ${id}
OIDCClientSecret ${secret}
OIDCRedirectURI ${origin}${CALLBACK_PATH}
OIDCCryptoPassphrase a-passphrase-of-the-server
OIDCPKCEMethod S256
OIDCScope "openid profile email groups offline_access"
OIDCAuthRequestParams prompt=consent
OIDCPassClaimsAs environment
OIDCRemoteUserClaim email
<Location />
  AuthType openid-connect
  Require valid-user
  Header always set X-Email "%{OIDC_CLAIM_email}e"
  Header always set X-Token "%{OIDC_access_token}e"
</Location>
<Location /public/>
  AuthType None
  Require all granted
</Location>
`;
  await writeFile(join(folder, 'apache2.conf'), configuration);
  const child = spawn(APACHE, ['-DFOREGROUND', '-d', folder, '-f', join(folder, 'apache2.conf')], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
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
    if (isOver) throw new Error('Apache ended; stderr has the reason');
    return fetch(`${origin}/public/`).then(
      () => true,
      () => undefined,
    );
  }, 'Apache to listen');
  return origin;
}
