// Placeholder of AuditTimeline until its page is built.
import type { ReactElement } from 'react';

type Props = { filter: { actor_id?: string; resource_type?: string; resource_id?: string } };

export const AuditTimeline = (props: Props): ReactElement => <output hidden>{JSON.stringify(props)}</output>;
