// The authentication context of a token: how strongly, by what and when its holder proved who they are.
// It belongs to the token, not to its session: the holder of an older one is not raised with its owner.
import { type Acr, acrValues, type Proof, proofs } from '@castellan/contract/authentication';
import type { Row } from './database.ts';

export type Context = { readonly acr: Acr; readonly amr: readonly string[]; readonly authTime: Date };

/** As a token's row has it: all three or none. None: by a password, when the session began. */
export type ContextColumns = Pick<Row<'session_tokens'>, 'acr' | 'auth_time'> & {
  amr: readonly string[] | null;
};

export const isAcr = (text: string | null): text is Acr => acrValues.some((acr) => acr === text);

/** Throws for a level that this release does not know: the token must count for nothing. */
export function contextIn({ acr, amr, auth_time }: ContextColumns): Context | null {
  if (acr === null || amr === null || auth_time === null) return null;
  if (!isAcr(acr)) throw new Error(`a token has the unknown level ${acr}`);
  return { acr, amr, authTime: auth_time };
}

export const columnsOf = (context: Context | null): ContextColumns =>
  context === null
    ? { acr: null, amr: null, auth_time: null }
    : { acr: context.acr, amr: context.amr, auth_time: context.authTime };

/** Returns the context of a session that begins with this proof; null if it began with the password alone. */
export function contextOf(proof: Proof, at: Date): Context | null {
  const { acr, amr } = proofs[proof];
  return acr === 'aal1' && proof.startsWith('password') ? null : { acr, amr, authTime: inSeconds(at) };
}

/** Times of a token are whole seconds, in the JWT and in the row. */
export const inSeconds = (at: Date): Date => new Date(Math.floor(at.getTime() / 1_000) * 1_000);

/** The context of a token that has none of its own. */
export const provedByPassword = (at: Date): Context => ({ ...proofs.password, authTime: at });
