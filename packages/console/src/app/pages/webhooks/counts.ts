// Numbers of deliveries. The service counts to a limit, which stands for that many or more.
import { formatNumber } from '../../../common/format.ts';
import { later } from '../../text.ts';

const MOST_COUNTED = 100_000;

export const countText = (count: number): string =>
  count >= MOST_COUNTED ? later.webhooks.orMore(formatNumber(MOST_COUNTED)) : formatNumber(count);
