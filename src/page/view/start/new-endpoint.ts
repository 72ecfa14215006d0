import type { ComponentChild } from 'preact';
import { useState } from 'preact/hooks';
import { el } from '../../el.ts';
import { messageOf } from '../../state/api.ts';
import { useInspector } from '../context.ts';

/** One press makes an endpoint and opens it. */
export function NewEndpoint({ label = 'New endpoint' }: { label?: string }): ComponentChild {
  const { endpoints, go } = useInspector();
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  const create = async (): Promise<void> => {
    setBusy(true);
    setProblem(undefined);
    try {
      const { id } = await endpoints.create({});
      go({ endpoint: id });
    } catch (error) {
      setProblem(messageOf(error));
    } finally {
      setBusy(false);
    }
  };
  return [
    el('button', { type: 'button', class: 'primary', disabled: busy, onClick: () => void create() }, label),
    problem !== undefined && el('p', { class: 'error', role: 'alert' }, problem),
  ];
}
