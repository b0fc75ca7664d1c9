import { html, render } from 'htm/preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { clusterState } from './cluster/cluster-state.ts'
import { followNodes } from './cluster/follow-cluster.ts'
import { GRANT } from './cluster/node-reading.ts'
import { clusterApi } from './data/cluster-api.ts'
import { Session } from './data/session.ts'
import { ClusterApp } from './views/cluster-app.ts'
import { ThemeButton } from './views/theme.ts'
import { useStore } from './views/use-store.ts'

const parent = document.querySelector<HTMLElement>('#page')
if (parent !== null) {
  // A page that the browser restores from its history is loaded anew.
  addEventListener('pageshow', ({ persisted }) => (persisted ? location.reload() : undefined))
  render(html`<${ClusterPage} session=${new Session(sessionStorage)} base="../api/v1/" />`, parent)
}

interface ClusterPageProps {
  readonly session: Session
  /** The URL of the API; ends with a slash. A relative URL is relative to the page. */
  readonly base: string
}

/** The page of the cluster: first the sign-in of the reader, then the content. */
function ClusterPage({ session, base }: ClusterPageProps) {
  const { token, reason } = useStore(session.credentials)
  return token === ''
    ? html`<${SignIn} session=${session} reason=${reason} />`
    : html`<${SignedIn} key=${token} ...${{ session, base, token }} />`
}

/** Everything that is read with one token; none of it remains when the session ends. */
function SignedIn({ session, base, token }: ClusterPageProps & { readonly token: string }) {
  const { api, state } = useMemo(() => {
    const headers = () => ({ authorization: `Bearer ${token}` })
    const connection = clusterApi({
      base,
      headers,
      // A refusal with a code comes from a node-proxy; then the token is not wrong.
      onRefusal: ({ status, code, message }) =>
        status === 401 && code === '' ? session.end(refusalWords(message), token) : undefined,
    })
    return { api: connection, state: clusterState() }
  }, [token])
  useEffect(() => {
    const closed = new AbortController()
    followNodes(api, state, document, closed.signal)
    return () => closed.abort()
  }, [api])
  return html`<${ClusterApp} api=${api} state=${state} signOut=${() => session.end()} />`
}

function refusalWords(message: string): string {
  return `orch-server does not accept the token, which may have expired: ${message}`
}

interface SignInProps {
  readonly session: Session
  /** Why the last session ended; empty: the reader ended it. */
  readonly reason: string
}

/** The field for a token. It has no name, and the form is never submitted, so that the token never gets into a URL. */
function SignIn({ session, reason }: SignInProps) {
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
