import { h, type ComponentChild } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { ShareCreated, ShareRecord } from '../../../domain/answers.ts';
import { formatDateTime, relativeTime } from '../../content/time.ts';
import { el } from '../../el.ts';
import { useInspector } from '../context.ts';
import { useTask } from '../task.ts';
import { Visible } from '../visible.ts';
import { Modal } from './modal.ts';
import { NewShare } from './new-share.ts';
import { ShareLink } from './share-link.ts';

interface SharesProps {
  endpointId: string;
  /** Shares the entry; without it the endpoint. */
  requestId?: string;
}

/** The links by which others can read an endpoint and its entries. */
export function Shares({ endpointId, requestId }: SharesProps): ComponentChild {
  const { api, say } = useInspector();
  const [shares, setShares] = useState<ShareRecord[]>();
  const [created, setCreated] = useState<ShareCreated>();
  const reading = useTask();
  const withdrawing = useTask();

  const read = async (): Promise<void> => {
    const { body } = await api.get<{ shares: ShareRecord[] }>(`/api/endpoints/${endpointId}/shares`);
    setShares(body.shares);
  };
  useEffect(() => reading.run(read), []);
  const onCreated = (share: ShareCreated): void => {
    setCreated(share);
    reading.run(read);
  };
  const withdraw = (id: string): void =>
    withdrawing.run(async () => {
      await api.call('DELETE', `/api/shares/${id}`);
      if (created?.id === id) setCreated(undefined);
      say('The link is withdrawn');
      await read();
    });

  const error = withdrawing.error ?? reading.error;
  return h(
    Modal,
    { title: 'Share links' },
    created === undefined
      ? h(NewShare, { endpointId, requestId, onCreated })
      : h(ShareLink, { share: created, onAnother: () => setCreated(undefined) }),
    el('h3', null, 'Links that open this endpoint or one of its requests'),
    error !== undefined && el('p', { class: 'error', role: 'alert' }, error),
    shares === undefined && reading.busy && el('p', null, 'Reading …'),
    shares?.length === 0 && el('p', { class: 'hint' }, 'There are none.'),
    el(
      'ul',
      { class: 'shares' },
      shares?.map((share) => h(ShareItem, { key: share.id, share, isBusy: withdrawing.busy, withdraw })),
    ),
  );
}

interface ShareItemProps {
  share: ShareRecord;
  isBusy: boolean;
  withdraw: (id: string) => void;
}

function ShareItem({ share, isBusy, withdraw }: ShareItemProps): ComponentChild {
  const { id, label, redact, expires_at } = share;
  return el(
    'li',
    { class: 'share' },
    el(
      'div',
      null,
      label === null
        ? el('span', { class: 'hint' }, 'Without a label')
        : el('strong', null, h(Visible, { text: label })),
      el(
        'p',
        { class: 'hint' },
        `${reachInWords(share)} · ${redact ? 'secrets hidden' : 'with secrets'} · ends `,
        el(
          'time',
          { dateTime: expires_at, title: formatDateTime(expires_at, 'local') },
          relativeTime(expires_at, Date.now()),
        ),
      ),
    ),
    el(
      'button',
      {
        type: 'button',
        class: 'danger',
        disabled: isBusy,
        'aria-label': label === null ? 'Withdraw the link without a label' : `Withdraw ${label}`,
        onClick: () => withdraw(id),
      },
      'Withdraw',
    ),
  );
}

function reachInWords({ request_id, until }: ShareRecord): string {
  if (request_id !== null) return 'One request';
  return until === null ? 'The endpoint' : `The endpoint until ${formatDateTime(until, 'local')}`;
}
