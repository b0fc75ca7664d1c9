import type { IpAddress } from '../../../lib/ip.ts'
import { type JsonObject, stringAt } from '../../../lib/json.ts'
import { type Manifest, manifestError } from '../../../manifests/manifests.ts'
import type { Direction } from '../../../networkpolicy/network-policy.ts'
import { readClusterPolicy } from '../../../networkpolicy/read-cluster-policy.ts'
import { readPolicy } from '../../../networkpolicy/read-policy.ts'
import type { ChainName, PolicyContent, PolicyEvent } from '../../../policy/policy-content.ts'
import { PolicyModel } from '../../../policy/policy-model.ts'
import type { PlannedIsolation } from './node-plan.ts'

/** An object that decides which connections are admitted, applied or deleted. */
export type PolicyChange = Extract<PolicyEvent, { readonly kind: 'policy' | 'clusterPolicy' }>

/** What manifests change of policies. */
export interface PolicyChanges {
  readonly events: readonly PolicyChange[]
  /** What of the manifests is not used as it is written: one sentence each. */
  readonly notes: readonly string[]
}

const DIRECTIONS = ['ingress', 'egress'] as const

/** Reads the policies among manifests; the others are returned. Throws NP_MANIFESTS_INVALID. */
export function policiesAmong(
  manifests: readonly Manifest[],
): PolicyChanges & { readonly others: readonly Manifest[] } {
  const events: PolicyChange[] = []
  const notes: string[] = []
  const others: Manifest[] = []
  for (const manifest of manifests) {
    const { object } = manifest
    const kind = stringAt(object, 'kind')
    if (kind === 'NetworkPolicy') events.push({ kind: 'policy', ...namedPolicy(manifest) })
    else if (kind === 'ClusterNetworkPolicy') {
      const key = nameOf(manifest)
      const { policy, problems } = readClusterPolicy(object)
      events.push({ kind: 'clusterPolicy', key, value: policy })
      for (const { field, value, message } of problems) {
        notes.push(`ClusterNetworkPolicy ${key}: ${field}: ${value}: ${message}`)
      }
    } else others.push(manifest)
  }
  return { events, notes, others }
}

function namedPolicy(manifest: Manifest) {
  const name = nameOf(manifest)
  const namespace = stringAt(manifest.object, 'metadata', 'namespace') || 'default'
  const object: JsonObject = { ...manifest.object, metadata: { name, namespace } }
  return { key: `${namespace}/${name}`, value: readPolicy(object) }
}

function nameOf(manifest: Manifest): string {
  const name = stringAt(manifest.object, 'metadata', 'name')
  if (name !== '') return name
  throw manifestError(manifest.position('metadata.name'), 'metadata.name: it is missing')
}

/** What changes of policies mean for the Pods of a node: `listed` is the cluster as it is. */
export function planPolicies(
  nodeName: string,
  listed: readonly PolicyEvent[],
  changes: readonly PolicyChange[],
): readonly PlannedIsolation[] {
  const [before, after] = [new PolicyModel({ nodeName }), new PolicyModel({ nodeName })]
  before.apply(listed)
  after.apply([...listed, ...changes])
  return DIRECTIONS.flatMap((direction) =>
    [...after.content.pods[direction].keys()].flatMap((ip) =>
      isolationOf({ before, after, direction, ip }),
    ),
  )
}

interface Compared {
  readonly before: PolicyModel
  readonly after: PolicyModel
  readonly direction: Direction
  readonly ip: IpAddress
}

function isolationOf({ before, after, direction, ip }: Compared): readonly PlannedIsolation[] {
  const [was, is] = [before, after].map(({ content }) => whatHolds(content, direction, ip))
  if (was === undefined || is === undefined || was.text === is.text) return []
  const pod = after.podAt(ip) ?? ''
  return [{ direction, pod, ip, before: was.policies, after: is.policies }]
}

/** The policies about an address, and everything that they say, to compare; names of chains follow from what is in them. */
function whatHolds(content: PolicyContent, direction: Direction, ip: IpAddress) {
  const verdict = content.pods[direction].get(ip)
  const chain = content.podChains.get(verdict as ChainName)
  const tiers = [chain?.admin, chain?.baseline].map((name) => name && content.tierChains.get(name))
  const own = (chain?.policies ?? []).map((name) => content.policyChains.get(name))
  const policies = [
    ...(tiers[0]?.policies ?? []),
    ...own.flatMap((one) => one?.policy ?? []),
    ...(tiers[1]?.policies ?? []),
  ]
  return { policies, text: JSON.stringify([verdict, tiers, own]) }
}
