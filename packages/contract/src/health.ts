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
export const JsonWebKeySet = Type.Object(
  {
    keys: Type.Array(
      Type.Object({
        kty: Type.Literal('OKP'),
        crv: Type.Literal('Ed25519'),
        x: Type.String(),
        kid: Type.String(),
        use: Type.Literal('sig'),
        alg: Type.Literal('EdDSA'),
      }),
    ),
  },
  { title: 'JsonWebKeySet', description: 'RFC 7517; public keys only.' },
);
