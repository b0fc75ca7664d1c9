import type { Agent } from './agent.ts'

/**
 * The number of SYNs that were sent again, because nothing answered within a second. The kernel of the agent's
 * namespace counts them, so that a dropped packet is distinguished from a busy machine, whose programs are late.
 */
export async function repeatedSyns(agent: Agent): Promise<number> {
  const text = await agent.call('read', { path: '/proc/thread-self/net/netstat' })
  const [names = '', values = ''] = text.split('\n').filter((line) => line.startsWith('TcpExt:'))
  const index = names.split(' ').indexOf('TCPSynRetrans')
  if (index < 0) throw new Error(`no TCPSynRetrans in:\n${text}`)
  return Number(values.split(' ')[index])
}
