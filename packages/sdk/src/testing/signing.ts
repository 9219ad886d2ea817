// Signs access tokens as Castellan does: with Ed25519 those that a guard verifies, with ES256 those of applications.
type Signer = { sign(claims: object): Promise<string>; keySet(): Promise<{ keys: object[] }> };

const encoder = new TextEncoder();

function base64url(bytes: Uint8Array): string {
  const text = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
  return text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

const encode = (value: object): string => base64url(encoder.encode(JSON.stringify(value)));

const algorithms = {
  EdDSA: { key: { name: 'Ed25519' }, signature: { name: 'Ed25519' } },
  ES256: {
    key: { name: 'ECDSA', namedCurve: 'P-256' },
    signature: { name: 'ECDSA', hash: 'SHA-256' },
  },
};

export function createSigner(alg: keyof typeof algorithms): Signer {
  const kid = crypto.randomUUID();
  const { key, signature: how } = algorithms[alg];
  let pair: Promise<CryptoKeyPair> | undefined;
  const keys = (): Promise<CryptoKeyPair> => {
    pair ??= crypto.subtle.generateKey(key, true, ['sign', 'verify']) as Promise<CryptoKeyPair>;
    return pair;
  };
  return {
    async sign(claims) {
      const { privateKey } = await keys();
      const input = `${encode({ alg, typ: 'at+jwt', kid })}.${encode(claims)}`;
      const signature = await crypto.subtle.sign(how, privateKey, encoder.encode(input));
      return `${input}.${base64url(new Uint8Array(signature))}`;
    },
    async keySet() {
      const { publicKey } = await keys();
      return { keys: [{ ...(await crypto.subtle.exportKey('jwk', publicKey)), alg, use: 'sig', kid }] };
    },
  };
}
