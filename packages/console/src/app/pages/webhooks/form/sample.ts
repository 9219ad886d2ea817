// What an endpoint gets of a sample: with personal data, or without.
// It must not decide what is personal: the schema of the event marks it.

type Json = Readonly<Record<string, unknown>>;

/** Marks a member that only endpoints with `personal` get. */
const MARK = 'x-personal';

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The schemas of the members of an object, also of one that may be null. */
function membersOf(schema: unknown): Json {
  if (!isObject(schema)) return {};
  if (isObject(schema.properties)) return schema.properties;
  return Array.isArray(schema.anyOf) ? (schema.anyOf.map(membersOf).find(hasMembers) ?? {}) : {};
}

const hasMembers = (members: Json): boolean => Object.keys(members).length > 0;

const isPersonal = (schema: unknown): boolean => isObject(schema) && MARK in schema;

/** Returns the value without the members that its schema marks as personal. */
function withoutPersonal(value: unknown, schema: unknown): unknown {
  if (!isObject(value)) return value;
  const members = membersOf(schema);
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => !isPersonal(members[name]))
      .map(([name, one]) => [name, withoutPersonal(one, members[name])]),
  );
}

/** Returns the sample as an endpoint gets such an event when it has happened: samples of the service are marked as tests. */
export function sampleFor({ sample, schema }: { sample: Json; schema: Json }, personal: boolean): unknown {
  const { data, ...rest } = sample;
  const { test: _test, ...real } = isObject(data) ? data : {};
  const event = { ...rest, data: real };
  return personal ? event : withoutPersonal(event, schema);
}

/** Returns where in the event the personal members are, such as `data.actor.email`. */
export function personalMembers(schema: unknown, above = ''): string[] {
  return Object.entries(membersOf(schema)).flatMap(([name, member]) =>
    isPersonal(member) ? [`${above}${name}`] : personalMembers(member, `${above}${name}.`),
  );
}
