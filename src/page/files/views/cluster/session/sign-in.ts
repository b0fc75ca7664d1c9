import { html } from 'htm/preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { GRANT } from '../../../nodes/node-remedy.ts'
import type { Session } from '../../../session/session.ts'
import { ThemeButton } from '../../parts/theme-button.ts'

interface Props {
  readonly session: Session
  /** Why the last session ended; empty: the reader ended it. */
  readonly reason: string
}

/** The field for a token. It has no name and no form is sent, so that no address ever has the token. */
export function SignIn({ session, reason }: Props) {
  const field = useRef<HTMLInputElement>(null)
  const [fault, setFault] = useState('')
  useEffect(() => {
    document.title = 'Sign in · node-proxy'
    field.current?.focus()
  }, [])
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    setFault(session.signIn(field.current?.value ?? '') ?? '')
  }
  const why = fault || reason
  return html`<header>
      <p class="brand"><img src="assets/icon.svg" width="20" height="20" alt="" /><strong>node-proxy</strong></p>
      <p class="readiness"></p>
      <${ThemeButton} />
    </header>
    <main id="main" class="sign-in">
      <h1>The cluster</h1>
      <p>What every node-proxy knows: nodes, Services, and what becomes of a connection. It changes nothing.</p>
      ${why === '' ? null : html`<p class="failure" role="alert">${why}</p>`}
      <form onSubmit=${submit}>
        <label for="token">Token</label>
        <input
          id="token"
          type="password"
          autocomplete="off"
          spellcheck="false"
          aria-describedby="token-hint"
          ref=${field}
        />
        <button type="submit" class="primary">Sign in</button>
      </form>
      <p id="token-hint">It is kept until this tab is closed or you sign out. This makes one, of a ServiceAccount:</p>
      <pre><code>orchctl create token NAME</code></pre>
      <p>Its account needs the right to get nodes/proxy, and to list nodes and Pods:</p>
      <pre><code>${GRANT}</code></pre>
    </main>`
}
