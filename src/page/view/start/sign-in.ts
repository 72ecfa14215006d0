import type { ComponentChild } from 'preact';
import { useState } from 'preact/hooks';
import { el } from '../../el.ts';
import { useInspector, useStore } from '../context.ts';

export function SignIn(): ComponentChild {
  const { session } = useInspector();
  const reason = useStore(session, (now) => now.reason);
  const [token, setToken] = useState('');
  const submit = (event: Event): void => {
    event.preventDefault();
    if (token.trim() !== '') session.signIn(token.trim());
  };
  return el(
    'main',
    { class: 'sign-in' },
    el('h1', null, 'Hookbay'),
    reason !== undefined && el('p', { class: 'error', role: 'alert' }, reason),
    el(
      'form',
      { onSubmit: submit },
      el('label', { for: 'token' }, 'Token'),
      el('input', {
        id: 'token',
        type: 'password',
        autocomplete: 'off',
        value: token,
        onInput: (event) => setToken(event.currentTarget.value),
      }),
      el('button', { type: 'submit', class: 'primary' }, 'Sign in'),
    ),
  );
}
