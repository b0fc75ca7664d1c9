import type { MissingRequirement } from '../../mode.ts'
import type { RulesAccess } from '../../netfilter/access.ts'
import type { UserspaceConfiguration } from './configuration.ts'

/** How packets reach the workers, or the missing requirements. */
export type EntryChoice =
  | { readonly ok: true; readonly entry: 'redirect' | 'bind' }
  | { readonly ok: false; readonly missing: readonly MissingRequirement[] }

const NO_BINDINGS: MissingRequirement = {
  code: 'NP_USERSPACE_BIND_MAP',
  what: 'userspace.bindMap is empty, so there is no address at which a Service could be served',
  remedy: 'give one: --userspace-bind-map=127.0.0.1:8080=NAMESPACE/NAME:PORT',
}

/** `auto` means redirect if rules can be written, else bind if addresses are configured. */
export function chooseEntry(
  { userspace: { entry, bindMap } }: Pick<UserspaceConfiguration, 'userspace'>,
  access: RulesAccess,
): EntryChoice {
  if (entry !== 'bind' && access.ok) return { ok: true, entry: 'redirect' }
  if (entry !== 'redirect' && bindMap.length > 0) return { ok: true, entry: 'bind' }
  return {
    ok: false,
    missing: [
      ...(entry === 'bind' || access.ok ? [] : [noRedirect(access.missing)]),
      ...(entry === 'redirect' ? [] : [NO_BINDINGS]),
    ],
  }
}

function noRedirect({ what, remedy }: MissingRequirement): MissingRequirement {
  const bind = 'or serve at addresses of your own: --userspace-bind-map'
  const isSaid = remedy.includes('--userspace-bind-map')
  return {
    code: 'NP_USERSPACE_REDIRECT',
    what: `packets cannot be redirected to this process: ${what}`,
    remedy: isSaid ? remedy : `${remedy}; ${bind}`,
  }
}
