// Signs access tokens as Castellan does, so that a guard verifies them for real.
type Signer = { sign(claims: object): Promise<string>; keySet(): Promise<{ keys: object[] }> };

const encoder = new TextEncoder();

function base64url(bytes: Uint8Array): string {
  const text = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
  return text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

const encode = (value: object): string => base64url(encoder.encode(JSON.stringify(value)));

export function createSigner(): Signer {
  const kid = crypto.randomUUID();
  let pair: Promise<CryptoKeyPair> | undefined;
  const keys = (): Promise<CryptoKeyPair> => {
    pair ??= crypto.subtle.generateKey('Ed25519', true, ['sign', 'verify']);
    return pair;
  };
  return {
    async sign(claims) {
      const { privateKey } = await keys();
      const input = `${encode({ alg: 'EdDSA', typ: 'at+jwt', kid })}.${encode(claims)}`;
      const signature = await crypto.subtle.sign('Ed25519', privateKey, encoder.encode(input));
      return `${input}.${base64url(new Uint8Array(signature))}`;
    },
    async keySet() {
      const { publicKey } = await keys();
      const { x } = await crypto.subtle.exportKey('jwk', publicKey);
      return { keys: [{ kty: 'OKP', crv: 'Ed25519', alg: 'EdDSA', use: 'sig', kid, x }] };
    },
  };
}
