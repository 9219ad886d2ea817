// Schemas of the sealed audit log: its seals, proofs, heads and the export with evidence. How they are hashed:
// packages/server/src/modules/evidence/leaves.ts. Members are only added: what is sealed is verified with them for years.
import Type from 'typebox';
import { Nullable, Timestamp, Uuid } from '../http/common.ts';
import { DataEnvelope } from '../http/envelope.ts';

const Hash = Type.String({
  description: 'SHA-256, in base64.',
  examples: ['47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='],
});
const Position = Type.Integer({ minimum: 1 });
/** Both ends included. */
const Range = Type.Unsafe<[number, number]>(Type.Array(Type.Integer(), { minItems: 2, maxItems: 2 }));
const Ranges = Type.Array(Range, {
  description: 'Ranges, both ends included, in order.',
});

const entriesSeal = {
  number: Type.Integer({ minimum: 0, description: 'Its place in the log, from 0.' }),
  partition: Nullable(Type.String()),
  missing: Type.Array(Range, {
    description: 'Ranges of positions that no entry had yet when the seal was made.',
  }),
  late: Type.Array(Position, {
    description: 'Positions that were missing in an earlier seal and are sealed here.',
  }),
  void: Type.Array(Range, {
    description: 'Ranges of positions that were missing for an hour: no entry may ever have them.',
  }),
  count: Type.Integer({ minimum: 0, description: 'The entries, each a leaf, by position or id.' }),
  root: Hash,
  at: Timestamp,
};

export const EntriesSeal = Type.Object(
  { kind: Type.Literal('entries'), from: Nullable(Position), to: Nullable(Position), ...entriesSeal },
  {
    title: 'EntriesSeal',
    description: 'Entries from one position to another. Null: none but late ones.',
  },
);
export const BeforeSealingSeal = Type.Object(
  { kind: Type.Literal('before_sealing'), from: Uuid, to: Uuid, ...entriesSeal },
  { title: 'BeforeSealingSeal', description: 'Entries of earlier releases, which have no position, by id.' },
);
export const RemovedSeal = Type.Object(
  {
    number: Type.Integer({ minimum: 0 }),
    kind: Type.Literal('removed'),
    log: {
      ...Uuid,
      description: 'The id of the log that has these seals: this one, or one that it continues.',
    },
    seals: Ranges,
    at: Timestamp,
  },
  {
    title: 'RemovedSeal',
    description:
      'The entries of these seals were removed, because they were older than `AUDIT_RETENTION_DAYS`.',
  },
);
export const KeySeal = Type.Object(
  {
    number: Type.Integer({ minimum: 0 }),
    kind: Type.Literal('key'),
    old_key: Type.String(),
    new_key: Type.String(),
    at: Timestamp,
  },
  {
    title: 'KeySeal',
    description: 'Another key signs from here on. The checkpoint of this size has the signatures of both.',
  },
);
export const ContinuesSeal = Type.Object(
  {
    number: Type.Literal(0),
    kind: Type.Literal('continues'),
    origin: Type.String(),
    size: Type.Integer({ minimum: 0 }),
    root: Hash,
    known_size: Type.Integer({ minimum: 0 }),
    known_root: Hash,
    reason: Type.Enum(['restored', 'other_history', 'key_lost']),
    at: Timestamp,
  },
  {
    title: 'ContinuesSeal',
    description:
      'This log continues another one, of which the database has `size` seals. `known_size`: how many an instance had seen.',
  },
);
export const Seal = Type.Union([EntriesSeal, BeforeSealingSeal, RemovedSeal, KeySeal, ContinuesSeal]);
export type Seal = Type.Static<typeof Seal>;
export type EntriesSeal = Type.Static<typeof EntriesSeal>;
export type BeforeSealingSeal = Type.Static<typeof BeforeSealingSeal>;
export type RemovedSeal = Type.Static<typeof RemovedSeal>;
export type KeySeal = Type.Static<typeof KeySeal>;
export type ContinuesSeal = Type.Static<typeof ContinuesSeal>;

/** What a list of entries says about their seals. */
export const EntrySeal = Type.Object(
  {
    id: Uuid,
    state: Type.Enum(['sealed', 'waiting', 'inserted'], {
      description:
        '`waiting`: new entries are sealed within some ten seconds, those of earlier releases one after the other. `inserted`: seals have passed its place in the log without it.',
    }),
    log: Nullable({ ...Uuid, description: 'The id of the log that has its seal.' }),
    seal: Nullable(Type.Integer({ minimum: 0, description: 'The number of its seal.' })),
    is_erased: Type.Boolean({ description: 'Its personal data was erased. Its seal still verifies.' }),
  },
  { title: 'EntrySeal' },
);
export type EntrySeal = Type.Static<typeof EntrySeal>;

export const Sealing = Type.Object(
  {
    is_on: Type.Boolean({ description: 'Whether `AUDIT_SEALING` is on.' }),
    head: Nullable(
      Type.Object({
        origin: Type.String(),
        seals: Type.Integer({ minimum: 1 }),
        root: Hash,
        sealed_at: Timestamp,
      }),
    ),
    entries: Type.Array(EntrySeal, {
      description: 'The entries of this page, by the ranges of the seals. Only a proof compares hashes.',
    }),
  },
  {
    title: 'Sealing',
    description: 'Only with `sealing=true`. `head` is null before the first seal.',
  },
);
export type Sealing = Type.Static<typeof Sealing>;

const Details = Type.Object({}, { additionalProperties: true });

/** What a leaf hashes of an entry. */
const leafMembers = {
  id: Uuid,
  position: Nullable(Position),
  timestamp: Type.String({ format: 'date-time', description: 'ISO 8601, UTC, with microseconds.' }),
  action: Type.String(),
  actor_type: Nullable(Type.String()),
  actor_id: Nullable(Uuid),
  acted_by_id: Nullable(Uuid),
  resource_type: Type.String(),
  resource_id: Type.String(),
  details: Details,
  personal_hash: Hash,
};
export const EntryLeaf = Type.Object(leafMembers, { title: 'EntryLeaf' });
export type EntryLeaf = Type.Static<typeof EntryLeaf>;

/** The personal data of an entry, which its leaf has as `personal_hash`. */
export const PersonalPart = Type.Object(
  {
    actor_email: Nullable(Type.String()),
    actor_name: Nullable(Type.String()),
    resource_name: Nullable(Type.String()),
    details: Details,
  },
  { title: 'PersonalPart' },
);
export type PersonalPart = Type.Static<typeof PersonalPart>;

export const SealedEntry = Type.Object(
  { ...leafMembers, personal: Nullable(PersonalPart), salt: Nullable(Uuid) },
  {
    title: 'SealedEntry',
    description:
      'An entry with its evidence. `personal` and `salt` are null once the personal data is erased.',
  },
);
export type SealedEntry = Type.Static<typeof SealedEntry>;

/**
 * A line of the export with evidence. First the log; then, seal by seal, the entries of the seal in the order of its leaves and the seal;
 * then entries that are not sealed yet; last the head. An earlier log whose seals this one continues comes first, with its own lines.
 */
export const EvidenceLine = Type.Union(
  [
    Type.Object({ line: Type.Literal('log'), origin: Type.String(), keys: Type.Array(Type.String()) }),
    Type.Object({
      line: Type.Literal('entry'),
      seal: Type.Integer({ minimum: 0 }),
      ...SealedEntry.properties,
    }),
    Type.Object({
      line: Type.Literal('seal'),
      seal: Seal,
      is_removed: Type.Boolean({
        description: 'Whether its entries were removed. A later seal of kind `removed` says so.',
      }),
    }),
    Type.Object({ line: Type.Literal('unsealed'), ...SealedEntry.properties }),
    Type.Object({ line: Type.Literal('head'), checkpoint: Type.String() }),
  ],
  { title: 'EvidenceLine' },
);
export type EvidenceLine = Type.Static<typeof EvidenceLine>;

const LogQuery = {
  log: Type.Optional({
    ...Uuid,
    description: 'The id of the log, as at the end of its origin. The current one by default.',
  }),
};
const Size = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

export const HeadQuery = Type.Object({
  ...LogQuery,
  size: Type.Optional({ ...Size, minimum: 1, description: 'The head that the log had with so many seals.' }),
});
export type HeadQuery = Type.Static<typeof HeadQuery>;

/** Seals of one page at most. */
export const MAX_SEALS = 1_000;

export const SealsQuery = Type.Object({
  ...LogQuery,
  after: Type.Optional({ ...Size, description: 'The number of the last seal of the page before.' }),
  limit: Type.Integer({ minimum: 1, maximum: MAX_SEALS, default: 100 }),
});
export type SealsQuery = Type.Static<typeof SealsQuery>;
export const SealsEnvelope = DataEnvelope(Type.Array(Seal));
export type SealsEnvelope = Type.Static<typeof SealsEnvelope>;

export const ConsistencyQuery = Type.Object({
  ...LogQuery,
  from: { ...Size, description: 'Seals of the head that you kept.' },
  to: Type.Optional({ ...Size, description: 'Seals of a later head. The current one by default.' }),
});
export type ConsistencyQuery = Type.Static<typeof ConsistencyQuery>;
export const ConsistencyEnvelope = DataEnvelope(
  Type.Object(
    {
      proof: Type.Array(Hash, { description: 'As in RFC 6962, 2.1.2.' }),
      to: Type.Integer(),
    },
    { title: 'ConsistencyProof' },
  ),
);
export type ConsistencyEnvelope = Type.Static<typeof ConsistencyEnvelope>;

export const AuditEntryParams = Type.Object({ audit_log_id: Uuid });

export const EntryProof = Type.Object(
  {
    entry: Type.Object({ ...leafMembers, personal: Nullable(PersonalPart) }),
    salt: Nullable(Uuid),
    seal: Type.Union([EntriesSeal, BeforeSealingSeal]),
    index: Type.Integer({ description: 'The place of the entry among the leaves of the seal, from 0.' }),
    path: Type.Array(Hash, { description: 'From the entry to the root of the seal (RFC 6962, 2.1.1).' }),
    log_index: Type.Integer({ description: 'The place of the seal among the leaves of the log.' }),
    log_path: Type.Array(Hash, { description: 'From the seal to the root of the checkpoint.' }),
    checkpoint: Type.String({ description: 'The signed head of the log.' }),
  },
  { title: 'EntryProof' },
);
export type EntryProof = Type.Static<typeof EntryProof>;
export const EntryProofEnvelope = DataEnvelope(EntryProof);
export type EntryProofEnvelope = Type.Static<typeof EntryProofEnvelope>;
