// Says where a subject asks for access. What decides takes a subject together with its scope, so that no decision
// forgets it.

/** Where access counts: for every record of the service. */
type Scope = 'everywhere';

/** A subject or a principal, and where it asks for access. */
export type Scoped<S> = { subject: S; scope: Scope };

export const everywhere = <S>(subject: S): Scoped<S> => ({ subject, scope: 'everywhere' });
