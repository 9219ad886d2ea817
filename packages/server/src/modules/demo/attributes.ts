// The attributes that the made-up company keeps about its people, and their values.
// It must not read the clock or the database: the same seed and time give the same values.
import type { AttributeValues, UserAttribute } from '@castellan/contract/user-attributes';
import { createRandom } from './random.ts';

export type Attribute = Omit<UserAttribute, 'id' | 'created_at' | 'updated_at' | 'created_by_id'>;

const usual = {
  description: '',
  values: null,
  max_length: null,
  unique: false,
  searchable: false,
  self: 'none',
  required: false,
  claims: false,
  sensitive: false,
} satisfies Partial<Attribute>;

const locations = ['Berlin', 'Hamburg', 'Lisbon', 'Singapore', 'Toronto'];
const costCenters = ['1100', '1200', '2100', '2300', '3400', '4100'];

export const attributes: readonly Attribute[] = [
  {
    ...usual,
    name: 'employee_number',
    label: 'Employee number',
    type: 'string',
    max_length: 12,
    unique: true,
    searchable: true,
    self: 'read',
  },
  {
    ...usual,
    name: 'cost_center',
    label: 'Cost center',
    description: 'Who pays for the licenses',
    type: 'string',
    max_length: 10,
    searchable: true,
  },
  {
    ...usual,
    name: 'location',
    label: 'Location',
    type: 'enum',
    values: locations,
    searchable: true,
    self: 'read',
    claims: true,
  },
  { ...usual, name: 'hired_on', label: 'Hired on', type: 'date', self: 'read', sensitive: true },
  { ...usual, name: 'works_remotely', label: 'Works remotely', type: 'boolean', self: 'write' },
  { ...usual, name: 'phone_extension', label: 'Phone extension', type: 'integer', self: 'write' },
];

/** Of the first so many people: enough for every list, and quick to write. */
const MOST_PEOPLE = 10_000;
const FIRST_NUMBER = 10_001;
const DAY_MS = 86_400_000;

type Person = { pending_registration: boolean; age_s: number };

/** Returns a function that makes the values of one person after the other. People who have yet to confirm their address have none. */
export function createAttributes({
  seed,
  now,
}: {
  seed: string;
  now: Date;
}): (person: Person, index: number) => AttributeValues {
  const random = createRandom(`${seed}|attributes`);
  return ({ pending_registration, age_s }, index) => {
    if (pending_registration || index >= MOST_PEOPLE) return {};
    // Some had worked for the company before it had this service.
    const hired = new Date(now.getTime() - age_s * 1_000 - random.between(0, 900) * DAY_MS);
    return {
      employee_number: `E${FIRST_NUMBER + index}`,
      cost_center: random.pick(costCenters),
      location: random.pick(locations),
      hired_on: hired.toISOString().slice(0, 'yyyy-mm-dd'.length),
      ...(random.chance(0.7) ? { works_remotely: random.chance(0.4) } : {}),
      ...(random.chance(0.6) ? { phone_extension: random.between(200, 899) } : {}),
    };
  };
}
