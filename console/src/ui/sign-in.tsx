import { useState } from 'preact/hooks';
import { owner } from '../access.ts';
import { signIn } from '../session.ts';
import { Field, sends } from './field.tsx';

/** The form for a token. */
export function SignIn() {
  const [text, setText] = useState('');
  const [problem, setProblem] = useState('');
  const name = /^[\w.@-]+$/.test(owner.value) ? owner.value : 'alice';
  return (
    <form
      onSubmit={sends(() => {
        const fault = signIn(text);
        if (fault === undefined) setText('');
        setProblem(fault ?? '');
      })}
    >
      <Field
        label="Token"
        type="password"
        value={text}
        onInput={setText}
        isCode
        isWide
        hint={
          <>
            In development mode,{' '}
            <code>npx plantstore token --owner {name} --scope "plants:read plants:write plants:audit"</code> prints one.
          </>
        }
      />
      <button type="submit" class="primary">
        Sign in
      </button>
      <p class="problem" role="alert">
        {problem}
      </p>
    </form>
  );
}
