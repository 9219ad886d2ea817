// Compares a statement of the sources with PostgreSQL's description of it.
import type pg from 'pg';
import { type Checker, type Type, TypeFlags } from 'typescript/unstable/sync';
import { returnedTypes } from '../../../../scripts/gen/tables.ts';
import { type Description, describe } from './describe.ts';
import type { Statement } from './sources.ts';

export type Catalog = {
  /** Names of types by object identifier; those of arrays begin with an underscore. */
  types: ReadonlyMap<number, string>;
  /** The columns of the service's tables, by `table.column`, both as numbers. */
  columns: ReadonlyMap<string, { table: string; nullable: boolean }>;
};

export async function readCatalog(client: pg.Client): Promise<Catalog> {
  const types = await client.query<{ oid: number; name: string }>('select oid, typname as name from pg_type');
  const columns = await client.query<{ key: string; table: string; nullable: boolean }>(
    `select attrelid || '.' || attnum as key, relname as "table", not attnotnull as nullable
     from pg_attribute a join pg_class c on c.oid = a.attrelid and c.relnamespace = 'public'::regnamespace`,
  );
  return {
    types: new Map(types.rows.map(({ oid, name }) => [oid, name])),
    columns: new Map(columns.rows.map(({ key, ...column }) => [key, column])),
  };
}

/** Returns one sentence per mistake; none if the code and PostgreSQL agree. */
export async function mistakesOf(
  client: pg.Client,
  catalog: Catalog,
  checker: Checker,
  statement: Statement,
): Promise<string[]> {
  const found: string[] = [];
  // A text without parameters may contain several statements.
  const texts = statement.parameters?.length ? [statement.text] : statement.text.split(';');
  for (const text of texts) {
    try {
      const description = await describe(client, text);
      found.push(
        ...mistakesOfParameters(description, catalog, checker, statement),
        ...mistakesOfRow(description, catalog, checker, statement),
      );
    } catch (error) {
      found.push((error as Error).message);
    }
  }
  return found.map((one) => `${statement.at}: ${one}`);
}

function mistakesOfParameters(
  { parameters }: Description,
  catalog: Catalog,
  checker: Checker,
  statement: Statement,
): string[] {
  if (!statement.parameters) return [];
  if (statement.parameters.length !== parameters.length)
    return [`${statement.parameters.length} values for ${parameters.length} parameters`];
  return statement.parameters.flatMap(({ type, text }, index) => {
    const name = catalog.types.get(parameters[index] as number) as string;
    return accepts(checker, name, type)
      ? []
      : [`\${${text}} is ${checker.typeToString(type)}, and PostgreSQL takes ${name}`];
  });
}

function mistakesOfRow(
  { columns }: Description,
  catalog: Catalog,
  checker: Checker,
  { row, text }: Statement,
): string[] {
  if (!row || row.flags & TypeFlags.AnyOrUnknown) return [];
  const declared = new Map(checker.getPropertiesOfType(row).map((one) => [one.name, one]));
  const found = columns
    .filter(({ name }) => !declared.has(name))
    .map(({ name }) => `the row has a column ${name} that the code does not declare`);
  for (const [name, property] of declared) {
    const column = columns.find((one) => one.name === name);
    const type = checker.getTypeOfSymbol(property) as Type;
    if (!column) {
      found.push(`the code declares ${name}, which is no column of the row`);
      continue;
    }
    const typeName = catalog.types.get(column.type) as string;
    if (!fits(checker, typeName, type))
      found.push(`${name} is declared as ${checker.typeToString(type)}, and PostgreSQL returns ${typeName}`);
    const source = catalog.columns.get(`${column.table}.${column.column}`);
    if (!source) continue;
    const mayBeNull = source.nullable || isOuterJoined(source.table, text);
    if (mayBeNull && !isNullable(type)) found.push(`${name} may be null, and the code declares it is not`);
    // An outer join may make a column of any table null.
    if (!mayBeNull && isNullable(type) && !/\b(?:left|right|full)\b.*\bjoin\b/is.test(text))
      found.push(`${name} is never null, and the code declares it may be`);
  }
  return found;
}

/** Returns whether a statement reads the table only in a left join, so that its columns are null for missing rows. */
function isOuterJoined(table: string, text: string): boolean {
  const uses = text.match(new RegExp(`(?:\\b(?:from|join|update|into)|,)\\s+"?${table}\\b`, 'gi')) ?? [];
  const outer = text.match(new RegExp(`\\bleft\\s+join\\s+"?${table}\\b`, 'gi')) ?? [];
  return outer.length > 0 && outer.length === uses.length;
}

const isNullable = (type: Type): boolean =>
  type.isUnionType() ? type.getTypes().some(isNullable) : (type.flags & TypeFlags.Null) !== 0;

const nonNull = (checker: Checker, type: Type): Type => checker.getNonNullableType(type) ?? type;

/** Returns whether values of a declared type are what node-postgres returns for a PostgreSQL type. */
function fits(checker: Checker, typeName: string, declared: Type): boolean {
  const type = nonNull(checker, declared);
  if (typeName.startsWith('_')) {
    const element = elementOf(checker, type);
    return element !== undefined && fits(checker, typeName.slice(1), element);
  }
  const returned = returnedTypes[typeName];
  if (returned === undefined) throw new Error(`name the type of ${typeName} in scripts/gen/tables.ts`);
  return returned === 'unknown' || isOf(checker, type, returned);
}

/** Returns whether PostgreSQL accepts what node-postgres sends for values of this type. */
function accepts(checker: Checker, typeName: string, given: Type): boolean {
  if (given.flags & (TypeFlags.AnyOrUnknown | TypeFlags.Nullable)) return true;
  const type = nonNull(checker, given);
  if (type.isUnionType() && !(type.flags & TypeFlags.BooleanLike))
    return type.getTypes().every((one) => accepts(checker, typeName, one));
  if (typeName.startsWith('_')) {
    const element = elementOf(checker, type);
    return element !== undefined && accepts(checker, typeName.slice(1), element);
  }
  if (typeName.startsWith('json')) return isOf(checker, type, 'string');
  const returned = returnedTypes[typeName] ?? 'string';
  const isNumeric = /^(?:int|float|numeric|oid)/.test(typeName);
  if (isNumeric)
    return isOf(checker, type, 'number') || (typeName !== 'int4' && isOf(checker, type, 'string'));
  return isOf(checker, type, returned) || (returned === 'Date' && isOf(checker, type, 'string'));
}

const elementOf = (checker: Checker, type: Type): Type | undefined =>
  checker.isArrayLikeType(type) && type.isObjectType() && type.isTypeReference()
    ? checker.getTypeArguments(type)[0]
    : undefined;

function isOf(checker: Checker, type: Type, name: string): boolean {
  switch (name) {
    case 'string':
      return checker.isTypeAssignableTo(type, checker.getStringType());
    case 'number':
      return checker.isTypeAssignableTo(type, checker.getNumberType());
    case 'boolean':
      return checker.isTypeAssignableTo(type, checker.getBooleanType());
    default:
      return type.getSymbol()?.name === name;
  }
}
