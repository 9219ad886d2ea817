// Keeps addresses out of the names that mails repeat.
// It must not change a name: it is shown whole or not at all.

// Characters of addresses, and a dot between digits or before what may be a top-level domain. Initials are none: J.R.
const looksLikeAddress = /[@:/\\]|[.\u3002](?:\d|[\p{L}\p{M}]{2})/u;

/**
 * Returns the name, or nothing if it looks like an address: mail programs would make a link of it, in a mail that people
 * trust. It is judged as people see it, without invisible characters and with compatibility forms such as full-width dots.
 */
export const greetableName = (name: string): string =>
  looksLikeAddress.test(name.normalize('NFKC').replaceAll(/\p{Default_Ignorable_Code_Point}/gu, ''))
    ? ''
    : name;
