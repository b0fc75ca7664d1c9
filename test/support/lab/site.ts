import { type Agent, startAgent } from './agent.ts'
import { addNamespace, type Namespace } from './namespace.ts'

/** One namespace with its agent. */
export interface Site {
  readonly namespace: Namespace
  readonly agent: Agent
}

export async function openSite(name: string): Promise<Site> {
  const namespace = await addNamespace(name)
  return { namespace, agent: startAgent(namespace) }
}

export async function closeSite({ namespace, agent }: Site): Promise<void> {
  await agent.stop()
  await namespace.remove()
}
