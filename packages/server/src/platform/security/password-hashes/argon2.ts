// Argon2 (RFC 9106) of any type, version and cost, as a PHC string. Without `v=`, the version is 16, as the PHC string
// format says.
import { hashRaw } from '@node-rs/argon2';
import { isEqual, malformed, readSaltAndOutput, type Scheme, tooCostly } from './scheme.ts';

// Memory in KiB, and memory times passes. The second takes up to 0.48 s of one core, whatever the lanes (measured). Logto
// uses 4 MiB and 256 passes: 2^20.
const MAX_MEMORY = 2 ** 18;
const MAX_WORK = 2 ** 20;
const MAX_LANES = 16;
// RFC 9106, 3.1.
const MIN_SALT_BYTES = 8;

// The library exports these as `const enum`, which Node cannot import.
const algorithms: Readonly<Record<string, number>> = { d: 0, i: 1, id: 2 };
const versions: Readonly<Record<string, number>> = { 16: 0, 19: 1 };

const form =
  /^\$argon2(id|i|d)(?:\$v=(16|19))?\$m=([1-9]\d{0,9}),t=([1-9]\d{0,9}),p=([1-9]\d{0,2})\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

export const argon2: Scheme = {
  prefix: /^\$argon2/,
  read(stored) {
    const [, type = '', version = '16', memory, passes, lanes, saltText, outputText] =
      form.exec(stored) ?? [];
    const parts = readSaltAndOutput(saltText, outputText);
    const algorithm = algorithms[type];
    const libraryVersion = versions[version];
    if (parts === null || algorithm === undefined || libraryVersion === undefined) return malformed;
    const [memoryCost, timeCost, parallelism] = [Number(memory), Number(passes), Number(lanes)];
    // RFC 9106, 3.1: at least 8 KiB for each lane.
    if (memoryCost < 8 * parallelism || parts.salt.length < MIN_SALT_BYTES) return malformed;
    if (memoryCost > MAX_MEMORY || memoryCost * timeCost > MAX_WORK || parallelism > MAX_LANES)
      return tooCostly;
    const { salt, output } = parts;
    const options = {
      algorithm,
      version: libraryVersion,
      memoryCost,
      timeCost,
      parallelism,
      salt,
      outputLen: output.length,
    };
    return { verify: async (password) => isEqual(await hashRaw(password, options), output) };
  },
};
