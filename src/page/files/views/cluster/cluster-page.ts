import { html } from 'htm/preact'
import { useEffect, useMemo } from 'preact/hooks'
import { clusterState } from '../../cluster/cluster-state.ts'
import { followNodes } from '../../cluster/follow-cluster.ts'
import { clusterApi } from '../../data/cluster-api.ts'
import type { Session } from '../../session/session.ts'
import { useStore } from '../parts/use-store.ts'
import { ClusterApp } from './cluster-app.ts'
import { SignIn } from './session/sign-in.ts'

interface Props {
  readonly session: Session
  /** Of the API, with its slash at the end; relative: to the page. */
  readonly base: string
}

/** The whole cluster, as a page: first who reads it, then what it holds. */
export function ClusterPage({ session, base }: Props) {
  const { token, reason } = useStore(session.credentials)
  return token === ''
    ? html`<${SignIn} session=${session} reason=${reason} />`
    : html`<${SignedIn} key=${token} ...${{ session, base, token }} />`
}

/** Everything that is known with one token; nothing of it is left when the session ends. */
function SignedIn({ session, base, token }: Props & { readonly token: string }) {
  const { api, state } = useMemo(() => {
    const headers = () => ({ authorization: `Bearer ${token}` })
    const connection = clusterApi({
      ...{ base, headers },
      // A node-proxy that refuses has a code; then it is not the token that is wrong.
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
