// The spellings of other systems, each with a hash that its software made of a known password.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readHash } from '../../platform/security/password-hashes/read-hash.ts';
import { isNoPassword, storedSpelling } from './hash-spellings.ts';

const PASSWORD = 'Kestrel-Über-42!';

/** Debian 12: Django 3.2.25, passlib 1.7.4, argon2-cffi 21.1.0, hashlib for scrypt; better-auth 1.7.25. */
const spelled: Record<string, string> = {
  'Django PBKDF2 with SHA-256':
    'pbkdf2_sha256$260000$iKpn0NSR2cSoFPSm43JsBO$mw8/Du/DqNDOgy9vekbU0KLFNa332j2vInbSn2qCWB0=',
  'Django PBKDF2 with SHA-1': 'pbkdf2_sha1$1200$gXL3AsFChx3w$ga9L9fEx453g3P6Mnp9XTddJ3CQ=',
  'Django argon2': 'argon2$argon2id$v=19$m=64,t=2,p=2$c2FsdHNhbHRzYWx0$6EIftEwHANnYnsmu61MO1JlEzglsxO9L',
  'Django bcrypt': 'bcrypt$$2b$05$0sJMdtCPv9DQ2JQ9yq8rnuotiGBiKjVmAT63bQzO9am/1Rn1IVi.6',
  'Django scrypt':
    'scrypt$saltysalt$1024$8$2$hkIXmzqqj7PCL5KTzsGGOHjY3XxLWkEW4LBAS+NVLSQABn/IFvOWDJpm1mOpDgmGKs7aFvP+r03s0e7vmpR/QQ==',
  'passlib PBKDF2 with SHA-1': '$pbkdf2$1200$tXYuRejd2xsDQGgNISTE.A$0aWzGDh0KpKd5M.ZOvQE47Shq8k',
  'passlib PBKDF2 with SHA-256':
    '$pbkdf2-sha256$1200$D2FMyTmndC6ldC6lFCIE4A$kPwFu6fRwAB.8QbyP5eaSudlJgOqlgti3RXm99YOh3M',
  'a PHC string with the length of the output':
    '$pbkdf2-sha256$i=1200,l=32$D2FMyTmndC6ldC6lFCIE4A$kPwFu6fRwAB+8QbyP5eaSudlJgOqlgti3RXm99YOh3M',
  'better-auth':
    'e3a186a27e35d920fead8e0614bdfe30:4e6b3f68f88076ec2dcb86401bd13c86945e0eb19ca4a768f0e205448eb1cc8804089372eeb8b805a6a39f13c5188c64df25e9acd41b4e290f4ae25dac3315eb',
  'a spelling that is stored as it is': '$2y$05$hyOQPr4cHTDG.EUyMsE6SOIvKW/fIf07BHK0kXfiyR7PVTJ2siuBO',
};

for (const [name, hash] of Object.entries(spelled))
  test(`${name}: the stored spelling is of the same password`, async () => {
    const stored = storedSpelling(hash);
    const reading = readHash(stored);
    assert.ok('verify' in reading, stored);
    assert.equal(await reading.verify(PASSWORD), true);
    assert.equal(await reading.verify('Kestrel-Uber-42!'), false);
    assert.equal(storedSpelling(stored), stored);
  });

test('a hash of Supabase without a salt separator gets an empty one', () => {
  assert.equal(
    storedSpelling('$fbscrypt$v=1,n=14,r=8,p=1,sk=AAAA$BBBB$CCCC'),
    '$fbscrypt$v=1,n=14,r=8,p=1,ss=,sk=AAAA$BBBB$CCCC',
  );
});

test('costs stay as they are, so that what is too costly is refused', () => {
  const billion = 'pbkdf2_sha256$1000000000$salt$mw8/Du/DqNDOgy9vekbU0KLFNa332j2vInbSn2qCWB0=';
  assert.deepEqual(readHash(storedSpelling(billion)), { fault: 'too_costly' });
  const odd = 'scrypt$salt$15000$8$1$mw8/Du/DqNDOgy9vekbU0KLFNa332j2vInbSn2qCWB0=';
  assert.deepEqual(readHash(storedSpelling(odd)), { fault: 'malformed' });
});

test('accounts without a password are recognised', () => {
  for (const text of ['', '!', '!apxHMNUu2wlJHYYdZ2yZ1eKVl2CTBl0GJG8CSzvv', '*', '*0'])
    assert.equal(isNoPassword(text), true, text);
  for (const text of ['$2y$05$x', '*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19'])
    assert.equal(isNoPassword(text), false, text);
});
