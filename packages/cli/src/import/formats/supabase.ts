// Supabase: the table auth.users as CSV (`\copy auth.users to users.csv csv header`) or JSON.
// Documentation: github.com/supabase/auth, models/user.go.
import { objectIn, textAt } from '../rows.ts';
import { type Format, uuidOnly } from './format.ts';

export const supabase: Format = {
  type: 'csv',
  key: 'users',
  open: async () => (user) => {
    const about = objectIn(user.raw_user_meta_data);
    return {
      id: uuidOnly(user.id),
      email: user.email,
      first_name: textAt(about, 'first_name') ?? textAt(about, 'given_name'),
      last_name: textAt(about, 'last_name') ?? textAt(about, 'family_name'),
      name: textAt(about, 'full_name') ?? textAt(about, 'name'),
      is_active: !isBanned(user.banned_until) && isEmpty(user.deleted_at),
      verified: !isEmpty(user.email_confirmed_at),
      created_at: user.created_at,
      password_hash: user.encrypted_password,
    };
  },
};

const isEmpty = (value: unknown): boolean => value === undefined || value === null || value === '';

const isBanned = (until: unknown): boolean =>
  typeof until === 'string' && until !== '' && !(Date.parse(until) < Date.now());
