// The page Reference.
import type { ReactElement } from 'react';
import { PageHeader } from '../../components/PageHeader.tsx';

export const Reference = (): ReactElement => <PageHeader title="Reference" />;
