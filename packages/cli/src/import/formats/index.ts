// The systems whose exports are read, by the names of `--format`.
import { auth0 } from './auth0.ts';
import { betterAuth } from './better-auth.ts';
import { firebase } from './firebase.ts';
import type { Format } from './format.ts';
import { keycloak } from './keycloak.ts';
import { logto } from './logto.ts';
import { supabase } from './supabase.ts';

export const formats: ReadonlyMap<string, Format> = new Map([
  ['keycloak', keycloak],
  ['auth0', auth0],
  ['firebase', firebase],
  ['supabase', supabase],
  ['logto', logto],
  ['better-auth', betterAuth],
]);
