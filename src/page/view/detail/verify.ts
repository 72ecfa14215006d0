import { h, type ComponentChild } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { LogEntry } from '../../../domain/answers.ts';
import { recognise } from '../../content/provider.ts';
import { captureDelay, signedAt } from '../../content/signed-at.ts';
import type { Verdict } from '../../content/standard-webhooks.ts';
import { el } from '../../el.ts';
import { messageOf } from '../../state/api.ts';
import { VERIFIED, verify, verifyProblem, type VerifiedProvider } from '../../state/verification.ts';
import { useInspector } from '../context.ts';
import { Visible } from '../visible.ts';

type Outcome = { provider: VerifiedProvider; verdict: Verdict } | { error: string } | 'checking' | undefined;

/** Checks the signature of an entry. The secret stays in memory: in no storage, address or log. */
export function Verify({
  entry,
  onShown,
}: {
  entry: LogEntry;
  /** Called with the field of the secret. */
  onShown: (field: HTMLElement) => void;
}): ComponentChild {
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (field.current !== null) onShown(field.current);
  }, []);
  const { api, secrets } = useInspector();
  const [provider, setProvider] = useState<VerifiedProvider>(() => recognise(entry)?.provider ?? 'github');
  const [, draw] = useState(0);
  const [outcome, setOutcome] = useState<Outcome>();
  const key = `${entry.endpoint_id} ${provider}`;
  const secret = secrets.get(key) ?? '';
  const problem = verifyProblem(provider);
  const check = async (event: Event): Promise<void> => {
    event.preventDefault();
    setOutcome('checking');
    try {
      setOutcome({ provider, verdict: await verify(api, entry, provider, secret) });
    } catch (error) {
      setOutcome({ error: messageOf(error) });
    }
  };
  return el(
    'form',
    {
      class: 'verify',
      'aria-label': 'Check the signature',
      autocomplete: 'off',
      onSubmit: (event) => void check(event),
    },
    h(ProviderChoice, {
      provider,
      onChoose: (chosen) => {
        setProvider(chosen);
        setOutcome(undefined);
      },
    }),
    el(
      'label',
      null,
      'Secret',
      el('input', {
        type: 'password',
        autocomplete: 'off',
        spellcheck: false,
        ref: field,
        value: secret,
        onInput: (event) => {
          secrets.set(key, event.currentTarget.value);
          draw((count) => count + 1);
        },
      }),
    ),
    el('button', { type: 'submit', class: 'primary', disabled: secret === '' || problem !== undefined }, 'Check'),
    el('p', { class: 'verify-note' }, problem ?? 'The secret is remembered until you leave or reload this page.'),
    el('div', { class: 'verify-outcome', role: 'status' }, h(OutcomeView, { entry, outcome })),
  );
}

function ProviderChoice({
  provider,
  onChoose,
}: {
  provider: VerifiedProvider;
  onChoose: (provider: VerifiedProvider) => void;
}): ComponentChild {
  const names = Object.entries(VERIFIED) as [VerifiedProvider, string][];
  return el(
    'label',
    null,
    'Signed by',
    el(
      'select',
      { value: provider, onChange: (event) => onChoose(event.currentTarget.value as VerifiedProvider) },
      ...names.map(([value, name]) => el('option', { value, key: value }, name)),
    ),
  );
}

function OutcomeView({ entry, outcome }: { entry: LogEntry; outcome: Outcome }): ComponentChild {
  if (outcome === undefined) return null;
  if (outcome === 'checking') return 'Checking …';
  if ('error' in outcome) return el('p', { class: 'error' }, outcome.error);
  const { valid, expected, actual, details } = outcome.verdict;
  const signed = signedAt(entry, outcome.provider);
  return [
    el('p', { class: valid ? 'verdict valid' : 'verdict invalid' }, valid ? '✓ Valid' : `✗ Not valid`),
    details !== undefined && el('p', null, h(Visible, { text: details })),
    !valid &&
      actual !== '' &&
      el(
        'p',
        { class: 'verify-note' },
        'Hookbay keeps bodies to the byte: if the secret is right, something on the way here changed the body.',
      ),
    signed !== undefined &&
      el('p', { class: 'verify-note' }, `Captured ${captureDelay(signed, entry.created_at)} it was signed.`),
    el(
      'dl',
      { class: 'signatures' },
      el('dt', null, 'Expected'),
      el('dd', null, expected === '' ? '–' : h(Visible, { text: expected })),
      el('dt', null, 'Sent'),
      el('dd', null, actual === '' ? 'none' : h(Visible, { text: actual })),
    ),
  ];
}
