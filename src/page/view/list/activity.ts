import type { ComponentChild } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { formatCount } from '../../content/size.ts';
import { formatTime, type Zone } from '../../content/time.ts';
import { el } from '../../el.ts';
import { createActivities, MINUTE_MS, type Activities, type Activity } from '../../state/activity.ts';
import type { Api } from '../../state/api.ts';
import type { Feed } from '../../state/feed.ts';
import type { Open } from '../../state/opening.ts';
import { useInspector, useStore } from '../context.ts';

const REFRESH_MS = 15_000;
const WIDTH = 3;
const HEIGHT = 24;

const known = new WeakMap<Feed, Activities>();

/** The same ones each time that the picture is shown. */
function activitiesOf(api: Api, feed: Feed): Activities {
  const activities = known.get(feed) ?? createActivities(api, feed);
  known.set(feed, activities);
  return activities;
}

/** Captures over the last hour. A bar filters by its minute. */
export function ActivityPicture({ open: { feed } }: { open: Open }): ComponentChild {
  const { api, address, go, preferences } = useInspector();
  const activities = activitiesOf(api, feed);
  const activity = useStore(activities.state);
  const zone = useStore(preferences.zone);
  const since = useStore(address, ({ filter }) => filter.since);
  const [place, setPlace] = useState<number>();
  useEffect(() => {
    const refresh = (): void => void (document.hidden || activities.refresh());
    refresh();
    const timer = setInterval(refresh, REFRESH_MS);
    document.addEventListener('visibilitychange', refresh);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', refresh);
    };
  }, [activities]);
  if (activity === undefined) return null;
  const choose = (i: number): void => go({ filter: { ...address.get().filter, ...minuteOf(activity, i) } });
  const last = activity.counts.length - 1;
  return el(
    'div',
    { class: 'activity' },
    el('input', {
      type: 'range',
      min: 0,
      max: last,
      value: place ?? last,
      'aria-label': 'Minute to filter by',
      'aria-valuetext': barInWords(activity, place ?? last, zone),
      onInput: ({ currentTarget }) => setPlace(Number(currentTarget.value)),
      onKeyDown: ({ key }) => void (key === 'Enter' && choose(place ?? last)),
      onBlur: () => setPlace(undefined),
    }),
    el(
      'svg',
      {
        role: 'img',
        'aria-label': inWords(activity, zone),
        viewBox: `0 0 ${WIDTH * activity.counts.length} ${HEIGHT}`,
        preserveAspectRatio: 'none',
      },
      bars(activity, zone, (i) => i === place || minuteOf(activity, i).since === since, choose),
    ),
    el('span', { class: 'activity-label', 'aria-hidden': 'true' }, 'last hour'),
  );
}

function bars(
  activity: Activity,
  zone: Zone,
  isChosen: (i: number) => boolean,
  choose: (i: number) => void,
): ComponentChild[] {
  const most = Math.max(1, ...activity.counts);
  return activity.counts.map((count, i) => {
    const height = count === 0 ? 1 : Math.max(2, (count / most) * HEIGHT);
    const box = { x: i * WIDTH, width: WIDTH };
    return el(
      'g',
      { key: activity.since + i, 'data-chosen': isChosen(i) ? 'true' : undefined, onClick: () => choose(i) },
      el('title', null, barInWords(activity, i, zone)),
      el('rect', { class: 'slot', ...box, y: 0, height: HEIGHT }),
      el('rect', { class: 'bar', x: box.x + 0.4, width: WIDTH - 0.8, y: HEIGHT - height, height }),
    );
  });
}

function minuteOf({ since }: Activity, i: number): { since: string; until: string } {
  const start = since + i * MINUTE_MS;
  return { since: new Date(start).toISOString(), until: new Date(start + MINUTE_MS).toISOString() };
}

/** `1,204 captures in the last hour, most at 12:03`. */
export function inWords(activity: Activity, zone: Zone): string {
  const { counts, countedFrom } = activity;
  const all = counts.reduce((sum, count) => sum + count, 0);
  if (all === 0) return 'No captures in the last hour';
  const most = counts.indexOf(Math.max(...counts));
  const atLeast = countedFrom === undefined ? '' : 'At least ';
  return `${atLeast}${captures(all)} in the last hour, most at ${clock(activity, most, zone)}`;
}

function barInWords(activity: Activity, i: number, zone: Zone): string {
  return `${clock(activity, i, zone)}: ${captures(activity.counts[i] ?? 0)}`;
}

function captures(count: number): string {
  return `${formatCount(count)} ${count === 1 ? 'capture' : 'captures'}`;
}

function clock({ since }: Activity, i: number, zone: Zone): string {
  return formatTime(new Date(since + i * MINUTE_MS).toISOString(), zone).slice(0, 5);
}
