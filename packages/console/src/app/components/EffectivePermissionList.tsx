// Placeholder of EffectivePermissionList until its page is built.
import type { ReactElement } from 'react';

type Props = { subject: { type: 'user' | 'service_account' | 'me'; id: string } };

export const EffectivePermissionList = (props: Props): ReactElement => (
  <output hidden>{JSON.stringify(props)}</output>
);
