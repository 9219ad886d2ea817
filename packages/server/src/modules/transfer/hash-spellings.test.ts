// The spellings of other systems, each with a hash that its software made of a known password.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readHash } from '../../platform/security/password-hashes/read-hash.ts';
import { unverifiableKind } from './hash-kinds.ts';
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

/** Werkzeug 3, passlib 1.7.4 and Django 5 for SHA-512; `hashlib` of Python 3.11 for the layouts of ASP.NET, Spring 5.8 and Adonis. */
const alsoSpelled: Record<string, string> = {
  'Django PBKDF2 with SHA-512':
    'pbkdf2_sha512$1200$saltysaltysalt$X4anls2cq4rIH3LmRmk0z7NfgBLhaRs3nRxF1qdH+1Zi4w/aKkFCwczJIs7OYBzBXV9lApxZ7xKhuPieNFrBcw==',
  'Werkzeug PBKDF2 with SHA-256':
    'pbkdf2:sha256:1200$Or24GaN3iHjF47Vd$559373881272dce15aaac5bbdd2f5cc7a65fc803536b7625ab1ad1b7534e6f92',
  'Werkzeug PBKDF2 with SHA-1': 'pbkdf2:sha1:1200$NG30XDDljvQdmZXi$5ace3c3f2f3d8cecb373b7bbc17c936f9d63dbc2',
  'Werkzeug scrypt':
    'scrypt:1024:8:1$pWGwIG5wME98xpIZ$89281e9f9084c497d3bb40121829d451cf288d7210e1c18b901241ce0737c449bc5ab2dba43c74eb96c428aa4f01b24f58ff2eaf933773ee02172f76419c3c3f',
  'OpenLDAP PBKDF2 with SHA-1': '{PBKDF2}1200$a.09RyglRGitlRKCcG4NQQ$tpUvx1t.pv.B2IyE2yCQe8sc.iQ',
  'OpenLDAP PBKDF2 with SHA-256':
    '{PBKDF2-SHA256}1200$37v3vnfOeU8pBaDUWitl7A$mo7gXTX4RYlCZrebeBmP2/8DnTIA7jkDprLIBeKnxe8',
  'OpenLDAP PBKDF2 with SHA-512, in lower case':
    '{pbkdf2-sha512}1200$OWcMQYiR0tqb854Twri3dg$q/2uFKeyeG7VvucNJhnktoqzPUukncb5Lz2RRrtkOsgXW6wqjgQs.3hHDexkdmzEetwoPkkwKV6stvlxEjYMoA',
  Atlassian: '{PKCS5S2}ZizlHOMco5QSwhgjJCTE+Ho05w77P+D54iYhinoa3/rEOpvsiWsBnPR/wK98C57x',
  'a salted digest of LDAP in lower case':
    '{ssha256}p4Ui8A3ryvClmM2K8fTKjlw1NBrF9gLEP67dr5TChKs/Z4xRSsnZ+w==',
  'a salted digest without padding': '{SSHA256}p4Ui8A3ryvClmM2K8fTKjlw1NBrF9gLEP67dr5TChKs/Z4xRSsnZ+w',
  'a salted digest of Dovecot in hexadecimal digits': `{SSHA256.hex}${Buffer.from('p4Ui8A3ryvClmM2K8fTKjlw1NBrF9gLEP67dr5TChKs/Z4xRSsnZ+w==', 'base64').toString('hex')}`,
  'base64 of LDIF': Buffer.from('{SSHA256}p4Ui8A3ryvClmM2K8fTKjlw1NBrF9gLEP67dr5TChKs/Z4xRSsnZ+w==').toString(
    'base64',
  ),
  'passlib scrypt, padded':
    '$scrypt$ln=8,r=8,p=1$4jwHgJBSKoVwLqX0HoNwLg==$yNh158cC629CzMbv5iYH2+EOekSyou4yaSgvuX4J+O0=',
  'scrypt in base64url':
    '$scrypt$ln=8,r=8,p=1$4jwHgJBSKoVwLqX0HoNwLg$yNh158cC629CzMbv5iYH2-EOekSyou4yaSgvuX4J-O0',
  'scrypt of Adonis, which writes N':
    '$scrypt$n=1024,r=8,p=1$cGVwcGVybGVzc3BlcHBlcg$m6T9B6BNg8YqdGS6jCN4AfzRnLrD4HgunDO20arHdr+SYvXw0QSBjxWxfySAK5InjLuSFwAEBMg6fQ4dZRSD5A',
  'argon2 with its parameters in another order':
    '$argon2id$v=19$t=2,p=1,m=64$c2+KGHQFeesvnzI2vV+NVA$p7Kt77fkSaPZt11qI2Y8aJDe6Kp8KWlTD3Z54lwMZUk',
  'argon2 with the version among them, padded':
    '$argon2id$m=64,t=2,p=1,v=19$c2+KGHQFeesvnzI2vV+NVA==$p7Kt77fkSaPZt11qI2Y8aJDe6Kp8KWlTD3Z54lwMZUk=',
  'argon2 with empty keyid and data':
    '$argon2id$v=19$m=64,t=2,p=1,keyid=,data=$c2+KGHQFeesvnzI2vV+NVA$p7Kt77fkSaPZt11qI2Y8aJDe6Kp8KWlTD3Z54lwMZUk',
  'Spring {argon2}':
    '{argon2@SpringSecurity_v5_8}$argon2id$v=19$m=64,t=2,p=1$c2+KGHQFeesvnzI2vV+NVA$p7Kt77fkSaPZt11qI2Y8aJDe6Kp8KWlTD3Z54lwMZUk',
  'Dovecot {ARGON2ID}':
    '{ARGON2ID}$argon2id$v=19$m=64,t=2,p=1$c2+KGHQFeesvnzI2vV+NVA$p7Kt77fkSaPZt11qI2Y8aJDe6Kp8KWlTD3Z54lwMZUk',
  'Spring {bcrypt}': '{bcrypt}$2y$05$Rs2gg/IgUeiMAFq9SSQYU.Qfui5jYVaGpLP9OjoADaP.BTmQEDM82',
  'Dovecot {BLF-CRYPT}': '{BLF-CRYPT}$2y$05$Rs2gg/IgUeiMAFq9SSQYU.Qfui5jYVaGpLP9OjoADaP.BTmQEDM82',
  'OpenLDAP {crypt}': '{crypt}$2y$05$Rs2gg/IgUeiMAFq9SSQYU.Qfui5jYVaGpLP9OjoADaP.BTmQEDM82',
  'two wrappings': '{ldap}{CRYPT}$2y$05$Rs2gg/IgUeiMAFq9SSQYU.Qfui5jYVaGpLP9OjoADaP.BTmQEDM82',
  'white space at both ends': ' \t$2y$05$Rs2gg/IgUeiMAFq9SSQYU.Qfui5jYVaGpLP9OjoADaP.BTmQEDM82\r\n',
  'ASP.NET with SHA-1':
    'AQAAAAAAAASwAAAAEHBlcHBlcmxlc3NwZXBwZXJcSCduGNdgSemUsJSEbSjLVlM2IuYYc4vli92kh/LR0g==',
  'ASP.NET with SHA-256':
    'AQAAAAEAAASwAAAAEHBlcHBlcmxlc3NwZXBwZXIc5yuoMt/XEJnY8J/Yxd+NQ+9ebHKadzeX5Sbc9ventA==',
  'ASP.NET with SHA-512':
    'AQAAAAIAAASwAAAAEHBlcHBlcmxlc3NwZXBwZXLEBG0xo0FNNo1Jt4hfuULmeSgXOHkIRrjLmArLfQfqtg==',
  'Spring {pbkdf2} of 5.8':
    '{pbkdf2@SpringSecurity_v5_8}7065707065726c657373706570706572d186ab2ac7c6fd73d8c11c63105ce14623e283c3f1b843c73a3e0ae6550bde42',
};

/** Published by the projects themselves, of the passwords that they publish. */
const published: Record<string, { hash: string; password: string }> = {
  // The tests of ASP.NET Core Identity.
  'ASP.NET Identity, version 3': {
    hash: 'AQAAAAEAACcQAAAAEAABAgMEBQYHCAkKCwwNDg+yWU7rLgUwPZb1Itsmra7cbxw2EFpwpVFIEtP+JIuUEw==',
    password: 'my password',
  },
  'ASP.NET Identity, version 2': {
    hash: 'ANXrDknc7fGPpigibZXXZFMX4aoqz44JveK6jQuwY3eH/UyPhvr5xTPeGYEckLxz9A==',
    password: 'my password',
  },
  // The documentation of Spring Security.
  'Spring {pbkdf2}': {
    hash: '{pbkdf2}5d923b44a6d129f3ddf3e3c8d29412723dcbde72445e8ef6bf3b508fbf17fa4ed4d6b99ca763d8dc',
    password: 'password',
  },
  'Spring {scrypt}': {
    hash: '{scrypt}$e0801$8bWJaSu2IKSn9Z9kM+TPXfOc/9bdYSrN1oD9qfVThWEwdRTnO7re7Ei+fUZRJ68k9lTyuTeUp4of4g24hHnazw==$OAOec05+bXxvuu/1qZ6NUR+xQYvYv7BeL1QxwRpY5Pc=',
    password: 'password',
  },
  // The tests of Dovecot.
  'Dovecot {PBKDF2}': {
    hash: '{PBKDF2}$1$bUnT4Pl7yFtYX0KU$5000$50a83cafdc517b9f46519415e53c6a858908680a',
    password: 'test',
  },
  // The tests of Ory Kratos, which writes N where others have its logarithm.
  'Kratos scrypt': {
    hash: '$scrypt$ln=16384,r=8,p=1$2npRo7P03Mt8keSoMbyD/tKFWyUzjiQf2svUaNDSrhA=$MiCzNcIplSMqSBrm4HckjYqYhaVPPjTARTzwB1cVNYE=',
    password: 'test',
  },
};

for (const [name, { hash, password }] of Object.entries(published))
  test(`${name}: the published hash is of the published password`, async () => {
    const reading = readHash(storedSpelling(hash));
    assert.ok('verify' in reading, storedSpelling(hash));
    assert.equal(await reading.verify(password), true);
    assert.equal(await reading.verify(`${password}x`), false);
  });

for (const [name, hash] of Object.entries({ ...spelled, ...alsoSpelled }))
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
  const aspNet = Buffer.from(
    'AQAAAAEAACcQAAAAEAABAgMEBQYHCAkKCwwNDg+yWU7rLgUwPZb1Itsmra7cbxw2EFpwpVFIEtP+JIuUEw==',
    'base64',
  );
  aspNet.writeUInt32BE(2_000_001, 5);
  assert.deepEqual(readHash(storedSpelling(aspNet.toString('base64'))), { fault: 'too_costly' });
});

test('accounts without a password are recognised', () => {
  for (const text of ['', '!', '!apxHMNUu2wlJHYYdZ2yZ1eKVl2CTBl0GJG8CSzvv', '*', '*0'])
    assert.equal(isNoPassword(text), true, text);
  for (const text of ['$2y$05$x', '*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19'])
    assert.equal(isNoPassword(text), false, text);
});

test('what cannot be verified is named', () => {
  const named: Record<string, RegExp> = {
    '{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=': /\{SHA\}/,
    '{sha256}97cde38028ad898ebc02e690819fa220e88c62e0699403e94fff291cfffaf8410849f27605abcbc0': /SHA family/,
    '{noop}password': /plain text/,
    '{CRYPT}$6$saltstring$svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjlO/O817G3uBnIFNjnQJu': /sha512crypt/,
    '{SHA512-CRYPT}$6$saltstring$svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjlO/O817G3uBnIFNjnQJu': /sha512crypt/,
    '{CRYPT}rl0uE5rOOnhw.': /DES/,
    '$y$j9T$F5Jx5fExrKuPp53xLKQ..1$X3DX6M94c7o.9agCG9G317fhZg9SqC.5i5rd.RhAtQ7': /yescrypt/,
    '$2x$05$retX0CBykoCOp2JgLI9Wi.wkbS3WnwaWVrTb9ITUTXF4JuOP8/ekO': /CVE-2011-2483/,
    'bcrypt$$2x$05$retX0CBykoCOp2JgLI9Wi.wkbS3WnwaWVrTb9ITUTXF4JuOP8/ekO': /CVE-2011-2483/,
    '$2$05$retX0CBykoCOp2JgLI9Wi.wkbS3WnwaWVrTb9ITUTXF4JuOP8/ekO': /first version/,
    'bcrypt_sha256$$2b$12$8zp2gtx4KqKfG9Wxg1lXMOxcb.E2ZZxOqmzcPY9FmYLkNLbgrmNFm': /bcrypt_sha256/,
    '$wp$2y$10$Tx9Kq4nkYcZtq5bV5mTzR.8s5CF6a0z1dL9m3tF3dJ6y5kKjW0v1S': /WordPress/,
    '$argon2id$v=19$m=64,t=2,p=1,keyid=YQ$c2+KGHQFeesvnzI2vV+NVA$p7Kt77fkSaPZt11qI2Y8aJDe6Kp8KWlTD3Z54lwMZUk':
      /secret key/,
    '5f4dcc3b5aa765d61d8327deb882cf99': /bare digest/,
  };
  for (const [hash, name] of Object.entries(named)) {
    assert.match(unverifiableKind(storedSpelling(hash)) ?? '', name, hash);
    assert.equal('fault' in readHash(storedSpelling(hash)), true, hash);
  }
  for (const hash of Object.values({ ...spelled, ...alsoSpelled }))
    assert.equal(unverifiableKind(storedSpelling(hash)), undefined, hash);
  assert.equal(unverifiableKind('secret'), undefined);
});

test('a text that is too long for a hash is not unwrapped', () => {
  const wrapped = (times: number): string =>
    `${'{CRYPT}'.repeat(times)}${spelled['a spelling that is stored as it is']}`;
  assert.equal(storedSpelling(wrapped(100)), spelled['a spelling that is stored as it is']);
  assert.equal(storedSpelling(wrapped(300)), wrapped(300));
});
