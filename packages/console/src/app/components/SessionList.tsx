// Placeholder of SessionList until its page is built.
import type { UserSession } from '@castellan/sdk';
import type { ReactElement } from 'react';

type Props = { sessions: readonly UserSession[]; onEnd: (session: UserSession) => void; showsUser?: boolean };

export const SessionList = (props: Props): ReactElement => <output hidden>{props.sessions.length}</output>;
