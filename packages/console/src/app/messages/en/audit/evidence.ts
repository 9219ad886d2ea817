// Texts of the evidence in the audit log: the proof of an entry, the signed head, and new logs.
import { createPlural } from '../../../../common/language.ts';

const plural = createPlural('en');

export const evidence = {
  title: 'Evidence',
  proof: 'Proof',
  waits: 'New entries are sealed within some ten seconds.',
  inserted:
    'The seals have passed the place of this entry without it: it was written into the database later.',
  inSeal: (number: string) => `The entry is in seal ${number}.`,
  notInSeal: (number: string) => `The entry, or another one in seal ${number}, is not what was sealed.`,
  inHead: (seals: string) => `The seal is in the signed head of ${seals} seals.`,
  notInHead: 'The seal is not in the signed head.',
  personal: {
    same: 'The personal data is what was sealed.',
    other: 'The personal data is not what was sealed.',
    erased: 'The personal data was erased. The seal still has its hash.',
  },
  good: 'passed',
  bad: 'failed',
  checked:
    'This browser has hashed the entry anew. It cannot judge the signature: the command "castellan audit verify" does, and compares heads that you kept.',
  cannotHash: 'This browser verifies proofs on pages from HTTPS only. Download the proof instead.',
  download: 'Download the proof',
  head: {
    title: 'Sealed log',
    text: 'Keep the signed head where those who operate this service cannot change it. Whatever somebody later changes, deletes or inserts in what it covers can be detected.',
    none: 'Nothing is sealed yet.',
    note: 'Signed head',
    origin: 'Origin',
    seals: 'Seals',
    root: 'Root',
    at: 'Last seal',
    download: 'Download',
  },
  off: 'AUDIT_SEALING is off: nothing is sealed. A later change of a new entry does not show.',
  forks: {
    title: 'New logs',
    none: 'The log has never gone on in a new one.',
    recent: (at: string) =>
      `On ${at}, the log went on in a new one, because the database did not have what had been sealed. If nobody restored it, find out who replaced it.`,
    show: 'Show the entry',
    showOf: (at: string) => `Show the entry of ${at}`,
    reasons: {
      restored: 'The database was restored.',
      other_history: 'The database had another history than an instance had seen.',
      key_lost: 'SECRET_KEY did not open the key that signs.',
    },
    lost: (count: number) => plural(count, { one: '# seal was lost.', other: '# seals were lost.' }),
  },
};
