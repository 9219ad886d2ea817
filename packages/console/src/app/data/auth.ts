// Signing in and out in this browser.
import { client } from '../../common/client.ts';

export const { auth } = client;
