// Schemas of the responses of the health probes and the key set.
import Type from 'typebox';

export const Live = Type.Object({ status: Type.Literal('live') }, { title: 'Live' });
export const Ready = Type.Object(
  {
    status: Type.Union([Type.Literal('ready'), Type.Literal('not_ready')]),
    reason: Type.Optional(Type.String()),
  },
  { title: 'Ready' },
);
const keyFields = { kid: Type.String(), use: Type.Literal('sig') };
const Ed25519Key = Type.Object({
  kty: Type.Literal('OKP'),
  crv: Type.Literal('Ed25519'),
  x: Type.String(),
  ...keyFields,
  alg: Type.Literal('EdDSA'),
});
const RsaKey = Type.Object({
  kty: Type.Literal('RSA'),
  n: Type.String(),
  e: Type.String(),
  ...keyFields,
  alg: Type.Literal('RS256'),
});
const EcKey = Type.Object({
  kty: Type.Literal('EC'),
  crv: Type.Literal('P-256'),
  x: Type.String(),
  y: Type.String(),
  ...keyFields,
  alg: Type.Literal('ES256'),
});

export const JsonWebKeySet = Type.Object(
  { keys: Type.Array(Type.Union([Ed25519Key, RsaKey, EcKey])) },
  { title: 'JsonWebKeySet', description: 'RFC 7517; public keys only.' },
);
