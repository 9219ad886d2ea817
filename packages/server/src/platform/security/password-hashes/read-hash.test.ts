// Known answers of every scheme, from other implementations, and the limits of what is read.
// It must not compute a hash with the code under test and then verify it: both could be wrong.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readHash } from './read-hash.ts';

const PASSWORD = 'Kestrel-Über-42!';

type Known = { hash: string; password?: string };

/** Debian 12: passlib 1.7.4, bcrypt 3.2.2, argon2-cffi 21.1.0, PHP 8.2, unless a row names another source. */
const known: Record<string, Known> = {
  'bcrypt $2a$': { hash: '$2a$05$retX0CBykoCOp2JgLI9Wi.wkbS3WnwaWVrTb9ITUTXF4JuOP8/ekO' },
  'bcrypt $2b$': { hash: '$2b$05$0sJMdtCPv9DQ2JQ9yq8rnuotiGBiKjVmAT63bQzO9am/1Rn1IVi.6' },
  'bcrypt $2y$, by PHP': { hash: '$2y$05$hyOQPr4cHTDG.EUyMsE6SOIvKW/fIf07BHK0kXfiyR7PVTJ2siuBO' },
  'bcrypt of more than 72 bytes': {
    hash: '$2b$04$GrZQhlp9fNIEBPQhKTJEB.eQlW5d6NwK9/52.ff1ey3KZ0ZsKa0Dm',
    password: `${'a'.repeat(72)}tail`,
  },
  'PBKDF2 with SHA-1': {
    hash: '$pbkdf2-sha1$i=1200$tXYuRejd2xsDQGgNISTE+A$0aWzGDh0KpKd5M+ZOvQE47Shq8k',
  },
  'PBKDF2 with SHA-256': {
    hash: '$pbkdf2-sha256$i=1200$D2FMyTmndC6ldC6lFCIE4A$kPwFu6fRwAB+8QbyP5eaSudlJgOqlgti3RXm99YOh3M',
  },
  'PBKDF2 with SHA-512': {
    hash: '$pbkdf2-sha512$i=1200$0pozptQ6R+jdW8tZq3XO2Q$uYvQONgOHsuOEYZ2kOYbEXSueWdxeaidPsIMOD4oEle2ry3elzf6tGvdcWBVrs/Py5WxrEX0gEbcH8sXEBstfw',
  },
  scrypt: { hash: '$scrypt$ln=8,r=8,p=2$V4rxPqeUMiYkZGxtbc259w$d5Xpp2kLVQyDcpKy/NjpBLJSGHaYSjJ93+htO6iaYiM' },
  // `hashlib.scrypt(unicodedata.normalize('NFKC', 'ﬁfty'), salt=b'pepperless', n=256, r=8, p=1, dklen=32)` of Python 3.11.
  'scrypt of a password in NFKC': {
    hash: '$scrypt-nfkc$ln=8,r=8,p=1$cGVwcGVybGVzcw$HGZ0pkgBkMgznZ7+pUZXSe8UBYEa2jZVfh/BI02DKTc',
    password: '\ufb01fty',
  },
  // The README of github.com/firebase/scrypt.
  'scrypt of Firebase': {
    hash: '$fbscrypt$v=1,n=14,r=8,p=1,ss=Bw==,sk=jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==$42xEC+ixf3L2lw==$lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ==',
    password: 'user1password',
  },
  // The tests of github.com/supabase/auth.
  'scrypt of Firebase, moved to Supabase': {
    hash: '$fbscrypt$v=1,n=14,r=8,p=1,ss=Bw==,sk=ou9tdYTGyYm8kuR6Dt0Bp0kDuAYoXrK16mbZO4yGwAn3oLspjnN0/c41v8xZnO1n14J3MjKj1b2g6AUCAlFwMw==$C0sHCg9ek77hsg==$zKVTMvnWVw5BBOZNUdnsalx4c4c7y/w7IS5p6Ut2+CfEFFlz37J9huyQfov4iizN8dbjvEJlM5tQaJP84+hfTw==',
    password: 'mytestpassword',
  },
  'argon2d, version 16': {
    hash: '$argon2d$v=16$m=64,t=2,p=2$c2FsdHNhbHRzYWx0$TQWH1gGlQQyQnXcxxtRASk/WZe8GtIzP',
  },
  'argon2d, version 19': {
    hash: '$argon2d$v=19$m=64,t=2,p=2$c2FsdHNhbHRzYWx0$Kas/Kllwthh8kxkyV1pf67ZL449ii4WA',
  },
  'argon2i, version 16': {
    hash: '$argon2i$v=16$m=64,t=2,p=2$c2FsdHNhbHRzYWx0$g2dgyB5JMOjXAp2r4d4NkpHKTh8t2lOk',
  },
  'argon2i without a version': {
    hash: '$argon2i$m=64,t=2,p=2$c2FsdHNhbHRzYWx0$g2dgyB5JMOjXAp2r4d4NkpHKTh8t2lOk',
  },
  'argon2i, version 19': {
    hash: '$argon2i$v=19$m=64,t=2,p=2$c2FsdHNhbHRzYWx0$JSXItBNDU49Z/fjksRIYfB3BBhw0k7yj',
  },
  'argon2id, version 19': {
    hash: '$argon2id$v=19$m=64,t=2,p=2$c2FsdHNhbHRzYWx0$6EIftEwHANnYnsmu61MO1JlEzglsxO9L',
  },
  '{SSHA}': { hash: '{SSHA}Uu8CUo2sEJjRf4iE9lWkFTPJ41Ft7X3P' },
  '{SSHA256}': { hash: '{SSHA256}nrrtgUncJ8rbckJTflcLSpAmsQaOqnt5FiMnOL0Aal/FGKPU+p/T+g==' },
  '{SSHA512}': {
    hash: '{SSHA512}reVBytygaQ8ilcwek1SgReAstK+sul8dJKOMgqYL9MaR8yeXGDCIeNxDyXBOr1c5hI2xO5jn0ePjZHESIZYcUKl17j2ndE5J',
  },
  'phpass $P$': { hash: '$P$59g1LVCAq2HnScpWbaeREuSE0jdUsZ.' },
  'phpass $H$': { hash: '$H$6F9YgB/6FAPraLFXqNKrEvPFvJ5fFM1' },
  // The test program of the author, openwall.com/phpass.
  'phpass of 2,048 rounds': { hash: '$P$9IQRaTwmfeRo7ud9Fh4E2PdI0S3r.L0', password: 'test12345' },
  // Made with the systems themselves, as Debian 12 packages them.
  'WordPress 6.1': { hash: '$P$B8A9G2bVthXDebOWOMpm2JHlFAqPAy0', password: 'Kestrel-Über-42!' },
  'slappasswd of OpenLDAP 2.5': {
    hash: '{SSHA}T77oRfRbXKN9ttUB7xNL9U3ZwJ3xYCWO',
    password: 'Kestrel-Über-42!',
  },
  'pw-sha2 of OpenLDAP 2.5': {
    hash: '{SSHA512}TYtn14yJkp4XxzHE/aZs+gfwjPhZTW7Q0eSKTiXlKIQFMvqL4cG7mdq2SXZfrDc1n1mqnaobuCSrn5ba+cgvWKqy1P0IBM3O',
    password: 'Kestrel-Über-42!',
  },
};

function verifierOf(hash: string) {
  const reading = readHash(hash);
  assert.ok('verify' in reading, `cannot be used: ${JSON.stringify(reading)}`);
  return reading.verify;
}

describe('known answers', () => {
  for (const [name, { hash, password = PASSWORD }] of Object.entries(known))
    test(name, async () => {
      const verify = verifierOf(hash);
      assert.equal(await verify(password), true);
      assert.equal(await verify(`x${password}`), false);
      assert.equal(await verify(''), false);
    });

  test('bcrypt ignores what follows 72 bytes, as the source system did', async () => {
    const { hash } = known['bcrypt of more than 72 bytes'] as Known;
    assert.equal(await verifierOf(hash)('a'.repeat(72)), true);
    assert.equal(await verifierOf(hash)('a'.repeat(71)), false);
  });

  // `hashlib` of Python 3.11: these are the passwords, but verifying them would take seconds of a core.
  test('no password is one that phpass would hash for seconds', async () =>
    assert.equal(await verifierOf('$P$G9g1LVCAqdl3L80cm6uoH.8lf0ikBr0')('a'.repeat(1_000)), false));

  test('a password whose NFKC would take seconds counts as typed', async () => {
    const hash = '$scrypt-nfkc$ln=4,r=8,p=1$cGVwcGVybGVzcw$z3O5jN6vxXYe7WpcSUtKBNbosJC0EUiLOlLDSDHgZQk';
    assert.equal(await verifierOf(hash)('\ufb01'.repeat(5_000)), true);
  });

  test('a changed output is another hash', async () => {
    for (const hash of Object.values(known).map((one) => one.hash)) {
      const at = hash.length - 10;
      const other = hash.slice(0, at) + (hash[at] === 'B' ? 'C' : 'B') + hash.slice(at + 1);
      const reading = readHash(other);
      if ('verify' in reading) assert.equal(await reading.verify(PASSWORD), false, other);
    }
  });
});

const salt = 'c29tZXNhbHRzb21lc2FsdA';
const output = 'A'.repeat(43);
const bcryptOf = (cost: string) => `$2b$${cost}$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy`;

describe('hashes that cannot be used', () => {
  const faults: Record<string, Record<string, string>> = {
    too_costly: {
      'bcrypt of cost 15': bcryptOf('15'),
      'bcrypt of cost 31': bcryptOf('31'),
      'a billion iterations of PBKDF2': `$pbkdf2-sha256$i=1000000000$${salt}$${output}`,
      'iterations that count for each block': `$pbkdf2-sha256$i=1100000$${salt}$${'A'.repeat(86)}`,
      'scrypt with 16 GiB': `$scrypt$ln=24,r=8,p=1$${salt}$${output}`,
      'scrypt with too many lanes': `$scrypt$ln=14,r=8,p=17$${salt}$${output}`,
      'scrypt of 2^99': `$scrypt$ln=99,r=9999,p=9999$${salt}$${output}`,
      'Firebase with 16 GiB': `$fbscrypt$v=1,n=24,r=8,p=1,ss=Bw,sk=${output}$${salt}$${output}`,
      'argon2 with 4 TiB': `$argon2id$v=19$m=4294967295,t=1,p=1$${salt}$${output}`,
      'argon2 with a billion passes': `$argon2id$v=19$m=8,t=1000000000,p=1$${salt}$${output}`,
      'phpass of 2^30 rounds': '$P$S9g1LVCAq2HnScpWbaeREuSE0jdUsZ.',
    },
    malformed: {
      'a cut bcrypt': bcryptOf('10').slice(0, -1),
      'bcrypt of cost 3': bcryptOf('03'),
      'bcrypt of cost 32': bcryptOf('32'),
      'no iterations': `$pbkdf2-sha256$i=0$${salt}$${output}`,
      'PBKDF2 with MD5': `$pbkdf2-md5$i=1000$${salt}$${output}`,
      'an output of 8 bytes': `$pbkdf2-sha256$i=1000$${salt}$${'A'.repeat(11)}`,
      'an output of 700 bytes': `$pbkdf2-sha256$i=1000$${salt}$${'A'.repeat(900)}`,
      'more than 1,000 characters': `$pbkdf2-sha256$i=1000$${salt}$${'A'.repeat(1_000)}`,
      'a salt that is not base64': `$scrypt$ln=14,r=8,p=1$${'A'.repeat(21)}$${output}`,
      'scrypt with more blocks than RFC 7914 allows': `$scrypt$ln=16,r=1,p=1$${salt}$${output}`,
      'Firebase with more blocks than RFC 7914 allows': `$fbscrypt$v=1,n=16,r=1,p=1,ss=Bw,sk=${output}$${salt}$${output}`,
      'argon2 with less than 8 KiB for a lane': `$argon2id$v=19$m=15,t=1,p=2$${salt}$${output}`,
      'argon2 of another version': `$argon2id$v=18$m=19456,t=2,p=1$${salt}$${output}`,
      'Firebase with a signer key of another length': `$fbscrypt$v=1,n=14,r=8,p=1,ss=Bw,sk=AAAA$${salt}$${output}`,
      'SSHA without a salt': `{SSHA}${Buffer.alloc(20, 1).toString('base64')}`,
      'phpass of 2^4 rounds': '$P$29g1LVCAq2HnScpWbaeREuSE0jdUsZ.',
    },
    unsupported: {
      'an empty text': '',
      'a plain text': 'password',
      'an unsalted digest': '5f4dcc3b5aa765d61d8327deb882cf99',
      'an unsalted digest of LDAP': '{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=',
      yescrypt: '$y$j9T$F5Jx5fExrKuPp53xLKQ..1$X3DX6M94c7o.9agCG9G317fhZg9SqC.5i5rd.RhAtQ7',
      'sha512crypt of Linux': '$6$saltstring$svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjlO/O817G3uBnIFNjnQJu',
      'a faulty bcrypt': '$2x$05$retX0CBykoCOp2JgLI9Wi.wkbS3WnwaWVrTb9ITUTXF4JuOP8/ekO',
    },
  };
  for (const [fault, hashes] of Object.entries(faults))
    for (const [name, hash] of Object.entries(hashes))
      test(`${name}: ${fault}`, () => assert.deepEqual(readHash(hash), { fault }));
});
