// The page Audit.
import type { ReactElement } from 'react';
import { PageHeader } from '../../components/PageHeader.tsx';

export const Audit = (): ReactElement => <PageHeader title="Audit" />;
