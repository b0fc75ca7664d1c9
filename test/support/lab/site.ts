import { type Agent, startAgent } from './agent.ts'
import { addEmptyNamespace, addNamespace, type Namespace, removeNamespaces } from './namespace.ts'

/** One namespace with its agent. */
export interface Site {
  readonly namespace: Namespace
  readonly agent: Agent
}

export async function openSite(name: string): Promise<Site> {
  const namespace = await addNamespace(name)
  return { namespace, agent: startAgent(namespace) }
}

/** One whose namespace is empty; see `addEmptyNamespace`. */
export async function openEmptySite(name: string): Promise<Site> {
  const namespace = await addEmptyNamespace(name)
  return { namespace, agent: startAgent(namespace) }
}

export async function closeSite(site: Site): Promise<void> {
  await closeSites([site])
}

export async function closeSites(sites: readonly Site[]): Promise<void> {
  await Promise.all(sites.map(({ agent }) => agent.stop()))
  await removeNamespaces(sites.map(({ namespace }) => namespace))
}
