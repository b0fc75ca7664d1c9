import type { Kubectl } from './kubectl.ts'

export interface Pod {
  readonly metadata: { readonly name: string; readonly deletionTimestamp?: string }
  readonly spec: { readonly nodeName: string }
  readonly status: { readonly podIP: string; readonly podIPs: readonly { readonly ip: string }[] }
}

interface ServiceObject {
  readonly spec: {
    readonly clusterIP: string
    readonly clusterIPs: readonly string[]
    readonly ports: readonly { readonly nodePort: number }[]
  }
}

/** The Pods with the label `app` that stay, by their names. */
export async function podsOf(
  kubectl: Kubectl,
  app: string,
  namespace = 'default',
): Promise<readonly Pod[]> {
  const { items } = await kubectl.get<{ readonly items: readonly Pod[] }>(
    'pods',
    '-n',
    namespace,
    '-l',
    `app=${app}`,
  )
  const byName = new Map(items.map((pod) => [pod.metadata.name, pod]))
  return [...byName.keys()]
    .toSorted()
    .flatMap((name) => byName.get(name) ?? [])
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
}

export async function namesOf(
  kubectl: Kubectl,
  app: string,
  namespace?: string,
): Promise<readonly string[]> {
  return (await podsOf(kubectl, app, namespace)).map(({ metadata }) => metadata.name)
}

/** The Pod of `app` on a node. Throws where there is none. */
export async function podOn(kubectl: Kubectl, app: string, node: string): Promise<Pod> {
  const found = (await podsOf(kubectl, app)).find(({ spec }) => spec.nodeName === node)
  if (found === undefined) throw new Error(`no Pod of ${app} is on ${node}`)
  return found
}

export async function clusterIpsOf(kubectl: Kubectl, name: string): Promise<readonly string[]> {
  return (await kubectl.get<ServiceObject>('service', name)).spec.clusterIPs
}

export async function clusterIpOf(kubectl: Kubectl, name: string): Promise<string> {
  return (await kubectl.get<ServiceObject>('service', name)).spec.clusterIP
}

export async function nodePortOf(kubectl: Kubectl, name: string): Promise<number | undefined> {
  return (await kubectl.get<ServiceObject>('service', name)).spec.ports[0]?.nodePort
}

/** The keys of what was counted. */
export function keysOf(counts: Readonly<Record<string, number>>): readonly string[] {
  return Object.keys(counts).toSorted()
}
