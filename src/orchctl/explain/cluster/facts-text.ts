import { hostPort } from '../../../lib/ip.ts'
import type { ClusterFacts, NamedBackend } from './cluster-facts.ts'
import type { NamedEnd } from './named-end.ts'
import { policyLines } from './policy-lines.ts'

/** Backends, and endpoints that are left out, that are shown to people. */
const MAX_SHOWN = 10

/** What the API says of a connection, for people. */
export function factsText({
  source,
  service,
  backends,
  leftOut,
  networkPolicies,
  unread,
}: ClusterFacts): string {
  const from = source.ip ?? 'a process of the node'
  return [
    'The cluster:',
    `  source    ${from}${namesText(source)}`,
    ...(service === undefined ? [] : [`  service   ${serviceText(service)}`]),
    ...shown(backends, (one) => `  backend   ${endText(one)}`),
    ...shown(leftOut, (one) => `  left out  ${endText(one)}: ${one.text}`),
    '',
    ...policyLines(networkPolicies, MAX_SHOWN),
    ...(unread.length === 0 ? [] : ['']),
    ...unread.map((one) => `Not read: ${one}`),
    '',
  ].join('\n')
}

function shown<T>(all: readonly T[], text: (one: T) => string): readonly string[] {
  const rest = all.length - MAX_SHOWN
  return [
    ...all.slice(0, MAX_SHOWN).map(text),
    ...(rest > 0 ? [`            and ${rest} more`] : []),
  ]
}

function endText(end: NamedBackend): string {
  return `${hostPort(end.ip, end.port)}${namesText(end)}`
}

/** `, pod shop/web-1, node node-7, zone a` */
function namesText({ pod, node, zone }: Omit<NamedEnd, 'ip'>): string {
  const named = Object.entries({ pod, node, zone })
  return named.map(([what, name]) => (name === undefined ? '' : `, ${what} ${name}`)).join('')
}

function serviceText(service: NonNullable<ClusterFacts['service']>): string {
  const { name, internalTrafficPolicy, externalTrafficPolicy } = service
  return [
    name,
    `internalTrafficPolicy ${internalTrafficPolicy}`,
    `externalTrafficPolicy ${externalTrafficPolicy}`,
    ...(service.trafficDistribution === ''
      ? []
      : [`trafficDistribution ${service.trafficDistribution}`]),
    ...(service.topologyMode === '' ? [] : [`topology-mode ${service.topologyMode}`]),
  ].join(', ')
}
