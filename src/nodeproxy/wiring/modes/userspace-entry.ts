import type { NodeProxyConfiguration } from '../../config/configuration.ts'
import type { NetfilterAccess } from '../kernel/netfilter.ts'
import type { Lack } from './mode-kind.ts'

/** How packets reach the workers, or what it would take. */
export type EntryChoice =
  | { readonly ok: true; readonly entry: 'redirect' | 'bind' }
  | { readonly ok: false; readonly lacks: readonly Lack[] }

const NO_BINDINGS: Lack = {
  code: 'NP_USERSPACE_BIND_MAP',
  what: 'userspace.bindMap is empty, so there is no address at which a Service could be served',
  remedy: 'give one: --userspace-bind-map=127.0.0.1:8080=NAMESPACE/NAME:PORT',
}

/** `auto` is redirect where rules can be written, else bind where it is said at which addresses. */
export function chooseEntry(
  { userspace: { entry, bindMap } }: Pick<NodeProxyConfiguration, 'userspace'>,
  netfilter: NetfilterAccess,
): EntryChoice {
  if (entry !== 'bind' && netfilter.ok) return { ok: true, entry: 'redirect' }
  if (entry !== 'redirect' && bindMap.length > 0) return { ok: true, entry: 'bind' }
  return {
    ok: false,
    lacks: [
      ...(entry === 'bind' || netfilter.ok ? [] : [noRedirect(netfilter.lack)]),
      ...(entry === 'redirect' ? [] : [NO_BINDINGS]),
    ],
  }
}

function noRedirect({ what, remedy }: Lack): Lack {
  const bind = 'or serve at addresses of your own: --userspace-bind-map'
  const isSaid = remedy.includes('--userspace-bind-map')
  return {
    code: 'NP_USERSPACE_REDIRECT',
    what: `packets cannot be redirected to this process: ${what}`,
    remedy: isSaid ? remedy : `${remedy}; ${bind}`,
  }
}
