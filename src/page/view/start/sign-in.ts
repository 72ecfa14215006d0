import { h, type ComponentChild } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { el } from '../../el.ts';
import { tokenFrom } from '../../model/token.ts';
import { useInspector, useStore } from '../context.ts';

/** Asks for a token, and says where there is one. */
export function SignIn(): ComponentChild {
  const { session, address } = useInspector();
  const reason = useStore(session, (now) => now.reason);
  const isBack = useStore(address, (now) => now.endpoint !== undefined);
  return el(
    'main',
    { class: 'sign-in' },
    el('h1', null, 'Hookbay'),
    el('p', { class: 'lead' }, 'Captures webhooks, keeps them, and shows them here as they arrive.'),
    reason !== undefined && el('p', { class: 'boxed error', role: 'alert' }, reasonInWords(reason)),
    isBack && el('p', { class: 'hint' }, 'After signing in, what the address names is opened.'),
    h(TokenForm, { signIn: (token) => session.signIn(token) }),
    whereFrom(),
  );
}

/** The API's general answer to any token that it does not know. */
const GENERAL = 'A valid bearer token is required';

function reasonInWords(reason: string): string {
  return reason === GENERAL ? `This token is not valid. The server says: ${reason}.` : reason;
}

function TokenForm({ signIn }: { signIn: (token: string) => void }): ComponentChild {
  const input = useRef<HTMLInputElement>(null);
  const [isVisible, setVisible] = useState(false);
  const [isMissing, setMissing] = useState(false);
  useLayoutEffect(() => input.current?.focus(), []);
  const submit = (event: Event): void => {
    event.preventDefault();
    const token = tokenFrom(input.current?.value ?? '');
    setMissing(token === undefined);
    if (token !== undefined) signIn(token);
    else input.current?.focus();
  };
  return el(
    'form',
    { class: 'field', onSubmit: submit, noValidate: true },
    el('label', { for: 'token' }, 'Token'),
    el(
      'div',
      { class: 'with-button' },
      el('input', {
        id: 'token',
        ref: input,
        type: isVisible ? 'text' : 'password',
        autocomplete: 'off',
        autocapitalize: 'off',
        spellcheck: false,
        placeholder: 'eyJ…',
        'aria-describedby': 'token-hint',
        'aria-invalid': isMissing ? 'true' : undefined,
      }),
      el(
        'button',
        { type: 'button', 'aria-pressed': isVisible ? 'true' : 'false', onClick: () => setVisible(!isVisible) },
        isVisible ? 'Hide' : 'Show',
      ),
    ),
    isMissing && el('p', { class: 'error', role: 'alert' }, 'Paste a token, or the link that signs in'),
    el('p', { id: 'token-hint', class: 'hint' }, 'It stays in this tab: other tabs and later visits do not have it.'),
    el('button', { type: 'submit', class: 'primary' }, 'Sign in'),
  );
}

function whereFrom(): ComponentChild {
  const place = (where: string, how: ComponentChild): ComponentChild => [el('dt', null, where), el('dd', null, how)];
  return el(
    'section',
    { class: 'where-from' },
    el('h2', null, 'Where a token comes from'),
    el('p', null, 'It says who you are and which plan you have, and is signed with a key of this installation.'),
    el(
      'dl',
      null,
      place('npm start', 'prints a link that signs in; it has /#token= in it'),
      place('Docker Compose', el('code', null, 'docker compose run --rm --no-deps api token --sub you')),
      place('Operators', [
        el('code', null, 'node dist/src/main.js token --sub you'),
        ', or the identity provider whose keys this installation trusts',
      ]),
      place('Others', 'ask whoever runs this installation'),
    ),
  );
}
