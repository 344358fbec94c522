import { useEffect, useState } from 'preact/hooks';
import type { Record } from '../../../../gen/plantstore/v1/event_pb.ts';
import { messageOf } from '../../api/trouble.ts';
import { EventDetail } from '../../log/event-detail.tsx';
import { readEvent } from '../../log/reader.ts';
import { positionOf } from '../../numbers.ts';
import { Notice } from '../../ui/notice.tsx';

/** The selected event: the one that is loaded, or else read from the log. */
export function Chosen({
  position,
  back,
  loaded,
}: {
  readonly position: string;
  readonly back: string;
  readonly loaded: Record | undefined;
}) {
  const [found, setFound] = useState<Record>();
  const [problem, setProblem] = useState('');
  useEffect(() => {
    const abort = new AbortController();
    setFound(undefined);
    setProblem('');
    if (loaded !== undefined) return;
    const number = positionOf(position);
    if (number === undefined) {
      setProblem('A position is a whole number, 1 or more.');
      return;
    }
    readEvent(number, abort.signal).then(
      (record) => (record === undefined ? setProblem('The log does not reach this position yet.') : setFound(record)),
      (error) => abort.signal.aborted || setProblem(messageOf(error)),
    );
    return () => abort.abort();
  }, [position, loaded === undefined]);
  useEffect(() => {
    const close = ({ key }: KeyboardEvent): void => {
      if (key === 'Escape') location.hash = back;
    };
    addEventListener('keydown', close);
    return () => {
      removeEventListener('keydown', close);
      document
        .querySelector<HTMLElement>(`a[aria-label="Event ${CSS.escape(position)}"]`)
        ?.focus({ preventScroll: true });
    };
  }, [back, position]);
  const record = loaded ?? found;
  return (
    <aside class="detail" aria-label={`Event ${position}`}>
      <a class="close" href={back}>
        Close
      </a>
      {record !== undefined && <EventDetail record={record} />}
      {problem !== '' && <Notice title={problem} isProblem />}
    </aside>
  );
}
