// PBKDF2 (RFC 8018) as a PHC string: $pbkdf2-sha256$i=<iterations>$<salt>$<output>, base64 without padding.
import { pbkdf2 as derive } from 'node:crypto';
import { promisify } from 'node:util';
import { isEqual, malformed, readSaltAndOutput, type Scheme, tooCostly } from './scheme.ts';

const deriveKey = promisify(derive);

// Iterations times blocks of the output. Measured: 0.13 s (SHA-1, SHA-256) to 0.42 s (SHA-512) of one core per million.
// Django 6.0 uses 1,200,000 of SHA-256; Keycloak 26 uses 210,000 of SHA-512.
const MAX_BLOCKS = 2_000_000;

const digestBytes: Readonly<Record<string, number>> = { sha1: 20, sha256: 32, sha512: 64 };

const form = /^\$pbkdf2-(sha1|sha256|sha512)\$i=([1-9]\d{0,9})\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

export const pbkdf2: Scheme = {
  prefix: /^\$pbkdf2-/,
  read(stored) {
    const [, digest = '', iterationsText, saltText, outputText] = form.exec(stored) ?? [];
    const parts = readSaltAndOutput(saltText, outputText);
    const blockBytes = digestBytes[digest];
    if (parts === null || blockBytes === undefined) return malformed;
    const { salt, output } = parts;
    const iterations = Number(iterationsText);
    if (iterations * Math.ceil(output.length / blockBytes) > MAX_BLOCKS) return tooCostly;
    return {
      verify: async (password) =>
        isEqual(await deriveKey(password, salt, iterations, output.length, digest), output),
    };
  },
};
