import type { Record } from '../../../gen/plantstore/v1/event_pb.ts';
import type { RowAttributes } from '../ui/rows.tsx';
import { When } from '../ui/when.tsx';
import { subjectOf } from './words.ts';

/** One event as a row of the log, with a link to its detail. */
export function EventRow({
  record,
  link,
  isChosen,
  attributes,
}: {
  readonly record: Record;
  readonly link: string;
  readonly isChosen: boolean;
  readonly attributes: RowAttributes;
}) {
  const position = String(record.event!.position);
  const subject = subjectOf(record.content);
  return (
    <tr {...attributes} class={isChosen ? 'chosen' : undefined}>
      <td class="position code">
        <a href={link} aria-current={isChosen ? 'true' : undefined} aria-label={`Event ${position}`}>
          {position}
        </a>
      </td>
      <td class={`type ${record.event!.type}`}>{record.event!.type}</td>
      <td class="owner">{subject?.owner ?? <span class="none">{record.content ? '' : 'erased'}</span>}</td>
      <td class="plant">
        {subject !== undefined && (
          <>
            <span class="code">{String(subject.id)}</span> {subject.name}
          </>
        )}
      </td>
      <td class="time">
        <When time={record.event!.time!} />
      </td>
    </tr>
  );
}
