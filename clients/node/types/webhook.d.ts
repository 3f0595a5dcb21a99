// Types of `semel/webhook`.
import type { Webhook } from './express.js';

export function standardWebhooks(options: { secrets: string[]; toleranceS?: number; now?: () => number }): Webhook;
