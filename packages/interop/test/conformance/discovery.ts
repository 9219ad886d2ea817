// The modules about what a provider says about itself: the Config profile, and what the logout profiles want to read there.
import assert from 'node:assert/strict';
import type { Module, Run } from './run.ts';

/** Members that a standard of OpenID or OAuth defines. */
const known = new Set(
  [
    'issuer authorization_endpoint token_endpoint userinfo_endpoint jwks_uri registration_endpoint scopes_supported',
    'response_types_supported response_modes_supported grant_types_supported acr_values_supported subject_types_supported',
    'id_token_signing_alg_values_supported userinfo_signing_alg_values_supported display_values_supported',
    'token_endpoint_auth_methods_supported token_endpoint_auth_signing_alg_values_supported claim_types_supported',
    'claims_supported service_documentation claims_locales_supported ui_locales_supported claims_parameter_supported',
    'request_parameter_supported request_uri_parameter_supported require_request_uri_registration op_policy_uri op_tos_uri',
    'request_object_signing_alg_values_supported revocation_endpoint revocation_endpoint_auth_methods_supported',
    'revocation_endpoint_auth_signing_alg_values_supported introspection_endpoint introspection_endpoint_auth_methods_supported',
    'introspection_endpoint_auth_signing_alg_values_supported code_challenge_methods_supported',
    'authorization_response_iss_parameter_supported backchannel_logout_supported backchannel_logout_session_supported',
    'end_session_endpoint pushed_authorization_request_endpoint require_pushed_authorization_requests',
    'dpop_signing_alg_values_supported device_authorization_endpoint prompt_values_supported',
    'introspection_signing_alg_values_supported',
  ].flatMap((line) => line.split(' ')),
);

const includes = (values: unknown, ...wanted: string[]): void => {
  assert.ok(Array.isArray(values), `${values} is no list`);
  for (const one of wanted) assert.ok(values.includes(one), `${values} lacks ${one}`);
};

/** The suite asks for https everywhere. The tests run on a loopback address. */
function checkEndpoints(run: Run): void {
  const plain = Object.entries(run.metadata).flatMap(([name, value]) => {
    if (!/_endpoint$|^jwks_uri$|^issuer$/.test(name)) return [];
    assert.ok(typeof value === 'string' && URL.canParse(value), name);
    assert.equal(new URL(value).hash, '', name);
    return value.startsWith('https:') ? [] : [name];
  });
  if (plain.length > 0) run.warn('addresses without https');
}

/** RFC 7517: public keys only, each with an id of its own. */
function checkKeys({ keys: { keys } }: Run): void {
  assert.ok(keys.length > 0);
  for (const key of keys) {
    assert.ok(key.kty === 'RSA' || key.kty === 'EC' || key.kty === 'OKP', key.kty);
    assert.ok(typeof key.kid === 'string' && key.kid !== '');
    for (const secret of ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'])
      assert.equal(key[secret], undefined, secret);
    if (key.use !== undefined) assert.match(key.use, /^(sig|enc)$/);
  }
  assert.equal(new Set(keys.map((key) => key.kid)).size, keys.length);
}

export const configModules: readonly Module[] = [
  {
    name: 'oidcc-discovery-endpoint-verification',
    checks: 'the document of discovery has what the standard demands, and the key set is public and readable',
    async run(run) {
      const { metadata, provider } = run;
      assert.equal(metadata.issuer, provider.issuer);
      assert.equal(new URL(metadata.issuer).search, '');
      includes(metadata.response_types_supported, 'code');
      includes(metadata.subject_types_supported);
      assert.ok(metadata.subject_types_supported.every((one: string) => /^(public|pairwise)$/.test(one)));
      includes(metadata.id_token_signing_alg_values_supported, 'RS256');
      includes(metadata.scopes_supported, 'openid');
      includes(metadata.grant_types_supported, 'authorization_code');
      includes(metadata.code_challenge_methods_supported, 'S256');
      for (const one of metadata.scopes_supported) assert.match(one, /^[\x21\x23-\x5B\x5D-\x7E]+$/);
      for (const name of ['authorization_endpoint', 'token_endpoint', 'userinfo_endpoint', 'jwks_uri'])
        assert.ok(URL.canParse(metadata[name]), name);
      for (const one of metadata.ui_locales_supported ?? [])
        assert.equal(Intl.getCanonicalLocales(one)[0], one);
      if (!Array.isArray(metadata.claims_supported)) run.warn('no claims_supported');
      for (const name of ['claims', 'request', 'request_uri'])
        assert.match(String(metadata[`${name}_parameter_supported`] ?? false), /^(true|false)$/);
      const others = Object.keys(metadata).filter((name) => !known.has(name));
      if (others.length > 0) run.warn(`members that no standard defines: ${others}`);
      checkEndpoints(run);
      checkKeys(run);
    },
  },
];

export const logoutDiscoveryModules: readonly Module[] = [
  {
    name: 'oidcc-rp-initiated-logout-discovery-endpoint-verification',
    checks: 'discovery names the address for sign-outs',
    async run(run) {
      assert.ok(URL.canParse(run.metadata.end_session_endpoint));
      checkEndpoints(run);
    },
  },
  {
    name: 'oidcc-backchannel-logout-discovery-endpoint-verification',
    checks: 'discovery says that applications are told about the end of a session, by its id',
    async run(run) {
      assert.equal(run.metadata.backchannel_logout_supported, true);
      assert.equal(run.metadata.backchannel_logout_session_supported, true);
      assert.ok(URL.canParse(run.metadata.end_session_endpoint));
      checkEndpoints(run);
    },
  },
];
