import { useState } from 'preact/hooks';
import { signIn } from '../session.ts';
import { Field } from './field.tsx';

/** The form for a token. */
export function SignIn() {
  const [text, setText] = useState('');
  const [problem, setProblem] = useState('');
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        const fault = signIn(text);
        if (fault === undefined) setText('');
        setProblem(fault ?? '');
      }}
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
            <code>npx plantstore token --owner alice --scope "plants:read plants:write plants:audit"</code> prints one.
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
