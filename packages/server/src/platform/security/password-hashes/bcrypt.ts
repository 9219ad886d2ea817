// bcrypt, as PHP, Python, Ruby and Node write it. The first 72 bytes of the password count, as in the source system.
import { verify } from '@node-rs/bcrypt';
import { malformed, type Scheme, tooCostly } from './scheme.ts';

// Measured: cost 10 takes 0.05 s of one core, cost 14 0.74 s.
const MAX_COST = 14;

// $2x$ marks hashes of a faulty implementation (CVE-2011-2483), and $2$ those of the first version, which left out the NUL at
// the end of the password. No library verifies them.
const form = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/;

export const bcrypt: Scheme = {
  prefix: /^\$2[aby]\$/,
  read(stored) {
    const [, costText] = form.exec(stored) ?? [];
    const cost = Number(costText);
    if (costText === undefined || cost < 4 || cost > 31) return malformed;
    if (cost > MAX_COST) return tooCostly;
    return { verify: (password) => verify(password, stored) };
  },
};
