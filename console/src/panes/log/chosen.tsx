import { useEffect, useRef } from 'preact/hooks';
import type { Record } from '../../../../gen/plantstore/v1/event_pb.ts';
import { EventDetail } from '../../log/event-detail.tsx';
import { readEvent } from '../../log/reader.ts';
import { positionOf } from '../../numbers.ts';
import { Notice } from '../../ui/notice.tsx';
import { useRead } from '../../ui/use-read.ts';

interface ChosenProps {
  readonly position: string;
  readonly back: string;
  readonly loaded: Record | undefined;
  /** When it changes, the event is read again. */
  readonly forgotten: number;
}

/** The selected event: the one that is loaded, or else read from the log. */
export function Chosen({ position, back, loaded, forgotten }: ChosenProps) {
  const number = positionOf(position);
  const { value, problem, isLoading } = useRead(`${position} ${loaded === undefined} ${forgotten}`, async (signal) =>
    number === undefined || loaded !== undefined ? undefined : readEvent(number, signal),
  );
  useEffect(() => {
    const close = ({ key }: KeyboardEvent): void => {
      if (key === 'Escape') location.hash = back;
    };
    addEventListener('keydown', close);
    return () => removeEventListener('keydown', close);
  }, [back]);
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    heading.current?.focus();
    return () =>
      document
        .querySelector<HTMLElement>(`a[aria-label="Event ${CSS.escape(position)}"]`)
        ?.focus({ preventScroll: true });
  }, [position]);
  const record = loaded ?? (isLoading ? undefined : value);
  const missing =
    number === undefined ? 'A position is a whole number, 1 or more.' : 'The log does not reach this position yet.';
  const said = isLoading || record !== undefined ? '' : problem || missing;
  return (
    <aside class="detail" aria-label={`Event ${position}`}>
      <a class="close" href={back}>
        Close
      </a>
      <h2 ref={heading} tabIndex={-1}>
        Event {position}
      </h2>
      {record !== undefined && <EventDetail record={record} />}
      {said !== '' && <Notice title={said} problem="" />}
    </aside>
  );
}
