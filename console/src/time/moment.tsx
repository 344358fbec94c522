import { useId } from 'preact/hooks';
import { readEvent } from '../log/reader.ts';
import { useRead } from '../ui/use-read.ts';
import { When } from '../ui/when.tsx';

/** Milliseconds that a position must not change before its time is requested. */
const SETTLE_PAUSE = 120;

interface MomentProps {
  readonly label: string;
  readonly position: number;
  readonly head: number;
  readonly onChange: (position: number) => void;
}

/** Chooses a position: a slider, a field beside it, and the time at the position. */
export function Moment({ label, position, head, onChange }: MomentProps) {
  const id = useId();
  const { value, isLoading } = useRead(
    String(position),
    async (signal) => (position === 0 ? undefined : (await readEvent(BigInt(position), signal))?.event?.time),
    SETTLE_PAUSE,
  );
  // That of the position before stays while this one's is read.
  const time = isLoading ? undefined : value;
  const words = position === 0 ? 'before the first event' : position === head ? 'the newest event' : '';
  return (
    <fieldset class="moment">
      <legend>{label}</legend>
      <label for={`${id}-slider`} class="unseen">
        {label}: slider over positions
      </label>
      <input
        id={`${id}-slider`}
        type="range"
        min={0}
        max={head}
        value={position}
        aria-valuetext={`position ${position} of ${head}`}
        onInput={({ currentTarget }) => onChange(currentTarget.valueAsNumber)}
      />
      <div class="field">
        <label for={`${id}-field`}>Position</label>
        <input
          id={`${id}-field`}
          class="code"
          type="number"
          min={0}
          max={head}
          value={position}
          onInput={({ currentTarget: { valueAsNumber: value } }) => {
            if (Number.isSafeInteger(value)) onChange(Math.min(Math.max(0, value), head));
          }}
        />
      </div>
      <p class="moment-time">
        <output for={`${id}-slider ${id}-field`}>
          {time !== undefined && <When time={time} />} <span class="none">{words}</span>
        </output>
      </p>
    </fieldset>
  );
}
