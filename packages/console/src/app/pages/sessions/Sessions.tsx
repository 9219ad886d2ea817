// The page Sessions.
import type { ReactElement } from 'react';
import { PageHeader } from '../../components/PageHeader.tsx';

export const Sessions = (): ReactElement => <PageHeader title="Sessions" />;
