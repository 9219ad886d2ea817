// The page Matrix.
import type { ReactElement } from 'react';
import { PageHeader } from '../../components/PageHeader.tsx';

export const Matrix = (): ReactElement => <PageHeader title="Matrix" />;
