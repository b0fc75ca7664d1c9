import { isServed } from '../../../forwarding/served.ts'
import { familyOf } from '../../../lib/ip.ts'
import type { ObjectKey, Refusal } from '../../../modes/mode.ts'
import type { Service, ServiceKey } from '../../../resources/types.ts'
import type { Conditions } from '../../../telemetry/health/conditions.ts'
import { describeBinding } from '../../config/bind-map.ts'
import type { Binding, NodeProxyConfiguration } from '../../config/configuration.ts'

type Sink = Pick<Conditions, 'raise' | 'clear'>

const UNMATCHED = 'bind-map-unmatched'
const UNUSED = 'bind-map-unused'
const LISTEN_FAILED = 'listen-failed'
const REFUSED = 'kernel-refusals'
const LISTEN_CODE = 'NP_USERSPACE_LISTEN'
const MAX_SHOWN = 5

export interface BindingFacts {
  readonly config: Pick<NodeProxyConfiguration, 'userspace' | 'proxyName'>
  /** Those that the mode listens at; `unused`: it redirects packets; undefined: another mode. */
  readonly bindings: readonly Binding[] | 'unused' | undefined
  readonly serviceOf: (key: ServiceKey) => Service | undefined
}

/**
 * Entries of `userspace.bindMap` that serve nothing. They do not block readiness: the owner of a
 * Service may create or delete it at any time.
 */
export function reviewBindings(conditions: Sink, facts: BindingFacts): void {
  const { config, bindings } = facts
  const isUnused = bindings === 'unused' && config.userspace.bindMap.length > 0
  review(conditions, UNUSED, {
    blocksReadiness: false,
    message: isUnused
      ? 'userspace.bindMap is not used, because packets are redirected: remove it, or set userspace.entry to bind'
      : undefined,
  })
  const served: readonly Binding[] = bindings === undefined || bindings === 'unused' ? [] : bindings
  const lost = served.flatMap((binding) => {
    const fault = faultOf(binding, facts)
    return fault === undefined ? [] : [`${describeBinding(binding)} (${fault})`]
  })
  review(conditions, UNMATCHED, {
    blocksReadiness: false,
    message:
      lost.length === 0
        ? undefined
        : `entries of userspace.bindMap serve nothing: ${shown(lost)}; create what they name, or correct them`,
  })
}

/**
 * What the kernel refuses at this moment and is tried again. An address of `userspace.bindMap` that
 * cannot be listened on blocks readiness, because the configuration asks for it; what only a
 * Service asks for does not, or its owner could stop a rollout.
 */
export function reviewRefusals(
  conditions: Sink,
  failures: ReadonlyMap<ObjectKey, { readonly refusal: Refusal }>,
): void {
  const refusals = [...failures].map(([key, { refusal }]) => ({ key, ...refusal }))
  const listening = refusals.filter(({ code }) => code === LISTEN_CODE)
  const messages = [...new Set(listening.map(({ message }) => message))].toSorted()
  review(conditions, LISTEN_FAILED, {
    blocksReadiness: true,
    message:
      messages.length === 0
        ? undefined
        : `addresses of userspace.bindMap are not served: ${shown(messages)}; free them or choose others (it is tried again)`,
  })
  const [first, ...more] = refusals.filter(({ code }) => code !== LISTEN_CODE)
  review(conditions, REFUSED, {
    blocksReadiness: false,
    message:
      first &&
      `the kernel refuses ${first.key}${more.length > 0 ? ' and others' : ''} (${first.code}: ${first.message}); the row of the code in docs/errors.md has the remedy`,
  })
}

function review(
  conditions: Sink,
  reason: string,
  {
    message,
    blocksReadiness,
  }: { readonly message: string | undefined; readonly blocksReadiness: boolean },
): void {
  if (message === undefined) conditions.clear(reason)
  else conditions.raise(reason, { message, blocksReadiness })
}

function shown(texts: readonly string[]): string {
  const rest = texts.length - MAX_SHOWN
  return texts.slice(0, MAX_SHOWN).join(', ') + (rest > 0 ? ` and ${rest} more` : '')
}

/** Why a binding serves nothing; undefined: it serves a port. */
function faultOf(
  { ip, service: key, portRef, protocol }: Binding,
  { serviceOf, config }: BindingFacts,
): string | undefined {
  const service = serviceOf(key)
  if (service === undefined) return 'no such Service'
  const proxyName = config.proxyName === '' ? undefined : config.proxyName
  if (!isServed(service, { proxyName })) return 'the Service is headless or another proxy’s'
  const ports = service.ports.filter((port) => port.protocol === protocol)
  const isNamed = (port: Service['ports'][number]) =>
    port.name === portRef || String(port.port) === portRef
  if (portRef === undefined && ports.length > 1) return `several ${protocol} ports; name one`
  if (portRef === undefined ? ports.length === 0 : !ports.some(isNamed)) {
    return `no such ${protocol} port`
  }
  const family = familyOf(ip)
  const hasFamily = service.clusterIPs.some((clusterIP) => familyOf(clusterIP) === family)
  return hasFamily ? undefined : `the Service has no IPv${family} address`
}
