import type { LogEntry } from '../../domain/answers.ts';
import { formFields, jsonStrings } from './fields.ts';
import { headerOf } from './message.ts';

export type Provider = 'github' | 'stripe' | 'shopify' | 'slack' | 'standard-webhooks';

/** What a delivery says of itself. Nothing of it is proved before its signature is checked. */
export interface Delivery {
  provider: Provider;
  name: string;
  event?: string;
  /** The id to quote to the provider. */
  id?: string;
  /** Whether it carries a signature. */
  signed: boolean;
  /** Whether the API can check the signature. */
  verifiable: boolean;
  /** Whose it is, where it says so: an account, a shop, a team. */
  about?: string;
}

type Row = Pick<LogEntry, 'headers' | 'body' | 'body_encoding' | 'user_agent'>;

/** A field that was found, or nothing. */
type Found = string | undefined;

/** Little enough for each row of a list that receives 500 a second. */
const SCAN_CHARACTERS = 4 * 1024;
const MAX_CHARACTERS = 80;

const EVENT_HEADERS = [
  'x-gitlab-event',
  'x-gitea-event',
  'x-event-key',
  'x-wc-webhook-topic',
  'x-event-type',
  'x-event-name',
  'x-webhook-event',
  'x-event',
  'ce-type',
];
const EVENT_NAMES = ['type', 'event', 'event_type', 'eventType'];

const READERS: ((row: Row) => Delivery | undefined)[] = [github, stripe, shopify, slack, standardWebhooks];

export function recognise(row: Row): Delivery | undefined {
  for (const read of READERS) {
    const delivery = read(row);
    if (delivery !== undefined) return delivery;
  }
  return undefined;
}

/** The name of the event in a request of a sender that isn't recognised. */
export function eventName(row: Row): string | undefined {
  for (const name of EVENT_HEADERS) {
    const value = headerOf(row, name);
    if (value !== '') return bounded(value);
  }
  const strings = jsonStrings(startOf(row), EVENT_NAMES);
  return bounded(EVENT_NAMES.map((name) => strings.get(name)).find((value) => value !== undefined));
}

function github(row: Row): Delivery | undefined {
  const event = headerOf(row, 'x-github-event');
  // Gitea and its relatives send these headers, too.
  if (event === '' || headerOf(row, 'x-gitea-event') !== '') return undefined;
  const signed = headerOf(row, 'x-hub-signature-256') !== '';
  return delivery('github', 'GitHub', signed, event, headerOf(row, 'x-github-delivery'));
}

function stripe(row: Row): Delivery | undefined {
  const signed = headerOf(row, 'stripe-signature') !== '';
  if (!signed && !row.user_agent.startsWith('Stripe/')) return undefined;
  const strings = jsonStrings(startOf(row), ['type', 'id', 'account']);
  const event = strings.get('type') ?? lastType(row);
  return delivery('stripe', 'Stripe', signed, event, strings.get('id'), strings.get('account'));
}

function shopify(row: Row): Delivery | undefined {
  const event = headerOf(row, 'x-shopify-topic');
  const signed = headerOf(row, 'x-shopify-hmac-sha256') !== '';
  if (event === '' && !signed) return undefined;
  const [id, shop] = [headerOf(row, 'x-shopify-webhook-id'), headerOf(row, 'x-shopify-shop-domain')];
  return delivery('shopify', 'Shopify', signed, event, id, shop);
}

function slack(row: Row): Delivery | undefined {
  const signed = headerOf(row, 'x-slack-signature') !== '';
  if (!signed && !row.user_agent.startsWith('Slackbot 1.0')) return undefined;
  const start = startOf(row);
  // Commands and interactions come as forms.
  const fields = start.startsWith('{') ? new Map<string, string>() : new Map(formFields(start));
  const json = fields.get('payload') ?? start;
  const strings = jsonStrings(json, ['event.type', 'type', 'event_id', 'team_id', 'team.id']);
  const event = fields.get('command') ?? strings.get('event.type') ?? strings.get('type');
  const team = fields.get('team_id') ?? strings.get('team_id') ?? strings.get('team.id');
  return delivery('slack', 'Slack', signed, event, strings.get('event_id'), team);
}

/** Svix sends them under names of its own, too (https://www.standardwebhooks.com). */
function standardWebhooks(row: Row): Delivery | undefined {
  for (const prefix of ['webhook', 'svix']) {
    const [id, signature] = [headerOf(row, `${prefix}-id`), headerOf(row, `${prefix}-signature`)];
    if (id === '' || headerOf(row, `${prefix}-timestamp`) === '') continue;
    const event = jsonStrings(startOf(row), ['type']).get('type') ?? eventName(row);
    return delivery('standard-webhooks', 'Standard Webhooks', signature !== '', event, id);
  }
  return undefined;
}

function delivery(provider: Provider, name: string, signed: boolean, event: Found, id: Found, about?: Found): Delivery {
  const [shortEvent, shortId, shortAbout] = [bounded(event), bounded(id), bounded(about)];
  return {
    provider,
    name,
    signed,
    verifiable: signed && provider !== 'standard-webhooks',
    ...(shortEvent !== undefined && { event: shortEvent }),
    ...(shortId !== undefined && { id: shortId }),
    ...(shortAbout !== undefined && { about: shortAbout }),
  };
}

function startOf({ body, body_encoding }: Row): string {
  return body_encoding === 'utf8' ? body.slice(0, SCAN_CHARACTERS) : '';
}

/** Stripe writes the type at the end of the event, behind an object of any size. */
function lastType({ body, body_encoding }: Row): string | undefined {
  return body_encoding === 'utf8' ? /"type": ?"([\w.]+)"\s*\}\s*$/.exec(body.slice(-200))?.[1] : undefined;
}

function bounded(text: Found): string | undefined {
  return text === undefined || text === '' ? undefined : text.slice(0, MAX_CHARACTERS);
}
